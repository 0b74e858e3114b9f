"""The demo page: mine a recording, watch a stream. Its place is kept; nothing is here yet."""

"""Proact-VL: watch live video and decide every second whether to speak. Its place is kept; nothing is here yet."""

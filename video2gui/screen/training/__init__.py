"""How the small models in `video2gui/screen/models` were made. Nothing here is needed to use them."""

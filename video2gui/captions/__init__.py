"""What is said: caption files to words with times."""

from video2gui.captions.read import read_captions
from video2gui.captions.words import Cue, Transcript, Word

__all__ = ["Cue", "Transcript", "Word", "read_captions"]

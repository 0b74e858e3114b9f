"""How a video is had: local files, and addresses that yt-dlp knows, behind one taxonomy of failures."""

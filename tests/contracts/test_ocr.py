"""What every text reader must do, put to each of them."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from PIL import Image as PilImage
from PIL import ImageDraw, ImageFont

from video2gui.geometry import Box
from video2gui.ocr import CachedOcr, Ocr, TextLine, open_ocr
from video2gui.video.frame import Image

pytest.importorskip("rapidocr", reason="the extra 'see' is not installed")

DARK, LIGHT = ((34, 34, 38), (222, 222, 224)), ((250, 250, 248), (24, 24, 24))
LINES = ["Save As... Ctrl+Shift+S", "jamie.okafor@example.org", "=SUM(D2:D6)"]


@pytest.fixture(scope="module", params=["rapid", "paddle"])
def ocr(request: pytest.FixtureRequest) -> Ocr:
    if request.param == "paddle":
        pytest.importorskip("paddleocr", reason="the extra 'paddle' is not installed")
    return open_ocr(request.param)


def draw(
    texts: list[str], size_px: int, colours: tuple[tuple[int, int, int], tuple[int, int, int]] = LIGHT
) -> tuple[Image, list[Box]]:
    """The texts below one another in Pillow's own font, and the place of each."""
    font = ImageFont.load_default(size_px)
    wh = (320, 20 + len(texts) * (size_px + 12))
    picture = PilImage.new("RGB", wh, colours[0])
    pen = ImageDraw.Draw(picture)
    boxes = []
    for row, text in enumerate(texts):
        at = (14, 10 + row * (size_px + 12))
        pen.text(at, text, font=font, fill=colours[1])
        boxes.append(Box.from_px(*pen.textbbox(at, text, font=font), wh))
    return np.asarray(picture), boxes


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("size_px", [11, 12, 14, 22])
def test_reads_known_lines_in_order_with_spaces_and_places(
    ocr: Ocr, size_px: int, colours: tuple[tuple[int, int, int], tuple[int, int, int]]
) -> None:
    image, boxes = draw(LINES, size_px, colours)
    lines = ocr.read(image)
    assert [line.text for line in lines] == LINES
    for line, box in zip(lines, boxes, strict=True):
        assert line.box.contains(box.centre)
        slack = 4 / image.shape[0]
        assert abs(line.box.y1 - box.y1) < 2 * slack
        assert abs(line.box.y2 - box.y2) < 2 * slack
        assert abs(line.box.x1 - box.x1) < 0.04
        assert abs(line.box.x2 - box.x2) < 0.04
        assert 0.5 <= line.confidence <= 1.0


def test_two_columns_are_read_row_by_row(ocr: Ocr) -> None:
    left, _ = draw(["Name", "Place"], 14)
    right, _ = draw(["Jamie", "Vienna"], 14)
    assert [line.text for line in ocr.read(np.hstack([left, right]))] == ["Name", "Jamie", "Place", "Vienna"]


@pytest.mark.parametrize("size_px", [11, 14, 20])
@pytest.mark.parametrize("text", ["Ctrl + Shift + T", "Fern", "=B2*C2", "72"])
def test_reads_a_single_line_crop(ocr: Ocr, text: str, size_px: int) -> None:
    image, (box,) = draw([text], size_px)
    x1, y1, x2, y2 = (round(v) for v in box.to_px((image.shape[1], image.shape[0])))
    line = ocr.read_line(image[y1 - 4 : y2 + 4, x1 - 4 : x2 + 4])
    assert line is not None
    assert line.text.replace(" ", "") == text.replace(" ", "")
    assert line.box == Box(0, 0, 1, 1)
    assert 0.5 < line.confidence <= 1.0


def test_reads_a_chinese_line(ocr: Ocr) -> None:
    names = ("NotoSansCJK-Regular.ttc", "wqy-microhei.ttc", "wqy-zenhei.ttc", "DroidSansFallbackFull.ttf", "msyh.ttc")
    for name in names:
        try:
            font = ImageFont.truetype(name, 18)
            break
        except OSError:
            continue
    else:
        pytest.skip(f"none of the fonts {', '.join(names)} is installed")
    picture = PilImage.new("RGB", (260, 48), "white")
    ImageDraw.Draw(picture).text((12, 10), "打开文件并保存设置", font=font, fill="black")
    assert [line.text for line in ocr.read(np.asarray(picture))] == ["打开文件并保存设置"]


@pytest.mark.parametrize("grey", [0, 128, 255])
def test_no_text_is_no_line(ocr: Ocr, grey: int) -> None:
    assert ocr.read(np.full((90, 160, 3), grey, np.uint8)) == []


@pytest.mark.parametrize("shape", [(1, 1), (3, 200), (200, 3), (1, 3000), (3000, 1), (7, 5)])
def test_odd_sizes_are_read_without_failure(ocr: Ocr, shape: tuple[int, int]) -> None:
    image = np.full((*shape, 3), 255, np.uint8)
    assert ocr.read(image) == []
    assert ocr.read_line(image) is None


def test_a_read_only_view_is_read(ocr: Ocr) -> None:
    image, _ = draw(["Total"], 14)
    image = np.ascontiguousarray(image)[::1, :, :]
    image.flags.writeable = False
    assert [line.text for line in ocr.read(image[:, 2:])] == ["Total"]


def test_name_and_version_say_what_read(ocr: Ocr) -> None:
    assert ocr.name in ("rapid", "paddle")
    assert "PP-OCR" in ocr.version


def test_opened_once_per_process(ocr: Ocr) -> None:
    assert open_ocr(ocr.name) is ocr  # type: ignore[arg-type]


def test_unknown_name_is_a_bug() -> None:
    with pytest.raises(ValueError, match="no text reader is called 'tesseract'"):
        open_ocr("tesseract")  # type: ignore[arg-type]


def test_importing_costs_no_engine() -> None:
    heavy = "('cv2', 'onnxruntime', 'rapidocr', 'paddleocr')"
    code = f"import sys, video2gui.ocr; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


class Counting:
    """A reader that says how often it was asked."""

    name, version = "counting", "1"

    def __init__(self) -> None:
        self.asked = 0

    def read(self, image: Image) -> list[TextLine]:
        self.asked += 1
        return [TextLine(str(image.shape), Box(0, 0, 1, 1), 1.0)]

    def read_line(self, image: Image) -> TextLine | None:
        self.asked += 1
        return None


def test_the_same_pixels_are_read_once_and_the_memory_is_bounded() -> None:
    inner = Counting()
    cached = CachedOcr(inner, size=2)
    one, two, three = (np.full((4, 5, 3), grey, np.uint8) for grey in (1, 2, 3))
    assert cached.read(one) == cached.read(one.copy()) == [TextLine("(4, 5, 3)", Box(0, 0, 1, 1), 1.0)]
    assert inner.asked == 1
    assert cached.read_line(one) is None
    assert cached.read_line(one) is None
    assert inner.asked == 2, "a line is another question than a page"
    cached.read(two)
    cached.read(three)
    cached.read(three)
    assert inner.asked == 4
    cached.read(one)
    assert inner.asked == 5, "forgotten: two newer ones were kept"


def test_the_same_bytes_in_another_shape_are_another_picture() -> None:
    inner = Counting()
    cached = CachedOcr(inner)
    assert cached.read(np.zeros((4, 5, 3), np.uint8)) != cached.read(np.zeros((5, 4, 3), np.uint8))
    assert inner.asked == 2


def test_what_is_handed_out_may_be_changed() -> None:
    cached = CachedOcr(Counting())
    image = np.zeros((4, 5, 3), np.uint8)
    cached.read(image).clear()
    assert len(cached.read(image)) == 1

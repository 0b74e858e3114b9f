"""RapidOCR with the PP-OCRv6 models that are bundled in its wheel, on onnxruntime."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from video2gui.errors import BackendError, MissingExtraError, load_extra
from video2gui.ocr.base import TextLine
from video2gui.ocr.layout import in_reading_order, line_image, page, whole_line
from video2gui.video.frame import Image

_DETECTOR, _RECOGNISER = "PP-OCRv6_det_small.onnx", "PP-OCRv6_rec_small.onnx"
MIN_SCORE = 0.5  # below it, `read` takes a line for no text
RECOGNISER_WIDTH_PX = 96  # a crop is padded to this width; the usual 320 costs twice as much on short words


def bundled_models() -> tuple[Path, Path]:
    """The detector's and the recogniser's ONNX files inside the rapidocr wheel.

    Raises:
        MissingExtraError: rapidocr is not installed; BackendError: its wheel no longer holds these files.
    """
    spec = importlib.util.find_spec("rapidocr")
    if spec is None or spec.origin is None:
        raise MissingExtraError("rapidocr is not installed: pip install 'video2gui[see]'", address="rapidocr")
    folder = Path(spec.origin).parent / "models"
    paths = (folder / _DETECTOR, folder / _RECOGNISER)
    for path in paths:
        if not path.is_file():
            raise BackendError(
                f"rapidocr holds no {path.name}: install a 3.10 to 3.x wheel that bundles it", address="rapidocr"
            )
    return paths


class RapidReader:
    """`Ocr` on RapidOCR. `threads` is the number of onnxruntime's threads for one call."""

    name = "rapid"

    def __init__(self, threads: int = 1) -> None:
        detector, recogniser = bundled_models()
        rapidocr = load_extra("rapidocr", "see")
        self.version = f"rapidocr-{importlib.metadata.version('rapidocr')}/PP-OCRv6-small"
        with _failures():
            self._engine = rapidocr.RapidOCR(
                params={
                    "Global.log_level": "critical",
                    "Global.use_cls": False,
                    "Global.use_preprocess_img": False,
                    "Global.use_vertical_padding": False,
                    "Global.text_score": MIN_SCORE,
                    "EngineConfig.onnxruntime.intra_op_num_threads": threads,
                    "EngineConfig.onnxruntime.inter_op_num_threads": 1,
                    # given by path, a model is never looked for elsewhere
                    "Det.model_path": str(detector),
                    "Rec.model_path": str(recogniser),
                    "Rec.rec_img_shape": [3, 48, RECOGNISER_WIDTH_PX],
                    "Det.limit_type": "min",
                    "Det.limit_side_len": 32,
                }
            )
        logging.getLogger("RapidOCR").setLevel(logging.CRITICAL)

    def read(self, image: Image) -> list[TextLine]:
        seen = page(image)
        with _failures():
            result = self._engine(seen.image, use_det=True, use_rec=True)
        boxes, texts, scores = (getattr(result, name, None) for name in ("boxes", "txts", "scores"))
        if boxes is None or texts is None or scores is None:
            return []
        lines = []
        for corners, text, score in zip(boxes, texts, scores, strict=True):
            (left, top), (right, bottom) = corners.min(axis=0), corners.max(axis=0)
            box = seen.box(left, top, right, bottom)
            line = whole_line(text, score)
            if box is not None and line is not None:
                lines.append(TextLine(line.text, box, line.confidence))
        return in_reading_order(lines)

    def read_line(self, image: Image) -> TextLine | None:
        crop = line_image(image)
        if crop is None:
            return None
        with _failures():
            result = self._engine(crop, use_det=False, use_rec=True)
        texts, scores = getattr(result, "txts", None), getattr(result, "scores", None)
        return whole_line(texts[0], scores[0]) if texts and scores else None


@contextmanager
def _failures() -> Iterator[None]:
    from rapidocr.inference_engine.onnxruntime.main import ONNXRuntimeError

    try:
        yield
    except ONNXRuntimeError as error:
        reason = str(error).strip().splitlines()[-1]
        raise BackendError(f"RapidOCR failed: {reason}", address="rapidocr") from error

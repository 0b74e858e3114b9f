"""PaddleOCR on onnxruntime, offline and without paddlepaddle: its models are those in the rapidocr wheel."""

from __future__ import annotations

import importlib.metadata
import json
import os
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any

import numpy as np

from video2gui.errors import BackendError, load_extra
from video2gui.ocr.base import TextLine
from video2gui.ocr.layout import Page, in_reading_order, line_image, page, whole_line
from video2gui.ocr.rapid import MIN_SCORE, RECOGNISER_WIDTH_PX, bundled_models
from video2gui.video.frame import Image

_DETECTOR, _RECOGNISER = "PP-OCRv6_small_det", "PP-OCRv6_small_rec"
_MEAN_STD = {"mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225], "scale": "1./255.", "order": "hwc"}
_DECODE = {"DecodeImage": {"channel_first": False, "img_mode": "BGR"}}


class PaddleReader:
    """`Ocr` on PaddleOCR. `threads` is the number of onnxruntime's threads for one call."""

    name = "paddle"

    def __init__(self, threads: int = 1) -> None:
        detector, recogniser = bundled_models()
        # without these it looks for a model server at import, and finds its hosts unreachable
        os.environ.setdefault("PADDLE_PDX_DISABLE_MODEL_SOURCE_CHECK", "True")
        paddleocr = load_extra("paddleocr", "paddle")
        self.version = f"paddleocr-{importlib.metadata.version('paddleocr')}/PP-OCRv6-small"
        folder = Path(tempfile.mkdtemp(prefix="video2gui-paddle-"))
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        common = {
            "engine": "onnxruntime",
            "device": "cpu",
            "engine_config": {"intra_op_num_threads": threads, "inter_op_num_threads": 1},
        }
        self._detect = paddleocr.TextDetection(
            model_name=_DETECTOR,
            model_dir=_model_folder(folder / "det", detector, _detector_config()),
            limit_side_len=32,
            limit_type="min",
            **common,
        )
        self._recognise = paddleocr.TextRecognition(
            model_name=_RECOGNISER,
            model_dir=_model_folder(folder / "rec", recogniser, _recogniser_config(recogniser)),
            **common,
        )

    def read(self, image: Image) -> list[TextLine]:
        seen = page(image)
        polygons = self._predict(self._detect, [seen.image])[0]["dt_polys"]
        found = [_upright(seen, np.asarray(polygon)) for polygon in polygons]
        crops = [crop for crop in found if crop is not None]
        if not crops:
            return []
        lines = []
        results = self._predict(self._recognise, [crop for crop, _ in crops])
        for (_, corners), result in zip(crops, results, strict=True):
            line, box = whole_line(result["rec_text"], result["rec_score"]), seen.box(*corners)
            if line is not None and box is not None and line.confidence >= MIN_SCORE:
                lines.append(TextLine(line.text, box, line.confidence))
        return in_reading_order(lines)

    def read_line(self, image: Image) -> TextLine | None:
        crop = line_image(image)
        if crop is None:
            return None
        result = self._predict(self._recognise, [crop])[0]
        return whole_line(result["rec_text"], result["rec_score"])

    def _predict(self, model: Any, images: list[Image]) -> list[Any]:
        from onnxruntime.capi.onnxruntime_pybind11_state import Fail, InvalidArgument, RuntimeException

        try:
            return list(model.predict(images))
        except (Fail, InvalidArgument, RuntimeException) as error:
            raise BackendError(f"PaddleOCR failed: {error}", address="paddleocr") from error


def _upright(seen: Page, polygon: np.ndarray[Any, Any]) -> tuple[Image, tuple[int, int, int, int]] | None:
    """The rectangle around a detected line (screen text is level), cut out, and its edges in pixels."""
    height, width = seen.image.shape[:2]
    left, top = (max(0, int(v)) for v in polygon.min(axis=0))
    right, bottom = (min(limit, int(v) + 1) for v, limit in zip(polygon.max(axis=0), (width, height), strict=True))
    if right - left < 4 or bottom - top < 4:
        return None
    return np.ascontiguousarray(seen.image[top:bottom, left:right]), (left, top, right, bottom)


def _model_folder(folder: Path, model: Path, config: dict[str, Any]) -> str:
    """The folder PaddleOCR wants: the model under its fixed name, and its description (JSON is YAML)."""
    folder.mkdir()
    (folder / "inference.onnx").symlink_to(model)
    (folder / "inference.yml").write_text(json.dumps(config), encoding="utf-8")
    return str(folder)


def _detector_config() -> dict[str, Any]:
    return {
        "Global": {"model_name": _DETECTOR},
        "PreProcess": {
            "transform_ops": [
                _DECODE,
                {"DetResizeForTest": {"limit_side_len": 32, "limit_type": "min"}},
                {"NormalizeImage": _MEAN_STD},
                {"ToCHWImage": None},
            ]
        },
        "PostProcess": {
            "name": "DBPostProcess", "thresh": 0.3, "box_thresh": 0.5, "max_candidates": 1000, "unclip_ratio": 1.6,
        },
    }  # fmt: skip


def _recogniser_config(model: Path) -> dict[str, Any]:
    return {
        "Global": {"model_name": _RECOGNISER},
        "PreProcess": {"transform_ops": [_DECODE, {"RecResizeImg": {"image_shape": [3, 48, RECOGNISER_WIDTH_PX]}}]},
        "PostProcess": {"name": "CTCLabelDecode", "character_dict": _characters(model)},
    }


def _characters(model: Path) -> list[str]:
    """The recogniser's alphabet, which the ONNX file carries in its metadata."""
    onnxruntime = load_extra("onnxruntime", "see")
    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    names: dict[str, str] = session.get_modelmeta().custom_metadata_map
    if "character" not in names:
        raise BackendError(f"{model.name} names no characters", address=str(model))
    return names["character"].splitlines()

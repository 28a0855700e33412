"""Colours of pages and pictures, each in a light and a dark scheme.

Pictures are drawn in the light colours. A page maps each of them to the variable of its name, so
that they follow the scheme of the reader: no two names may share a light colour.
"""

from __future__ import annotations

COLOURS = {
    "ink": ("#1b1f24", "#e8eaed"),
    "muted": ("#57606a", "#a3acb8"),
    "page": ("#f6f7f9", "#101418"),
    "card": ("#ffffff", "#181d23"),
    "line": ("#d8dde3", "#343c46"),
    "grid": ("#e7eaee", "#29303a"),
    "accent": ("#0a62a9", "#6cb6f5"),
    "aside": ("#7b8591", "#8b96a3"),
    "beside": ("#3f4750", "#c4ccd5"),
    "limit": ("#b3261d", "#ff8a80"),
    "good": ("#1a6b35", "#7bd396"),
    "good-back": ("#e3f4e8", "#12301d"),
    "warn": ("#8a4b00", "#f2b65c"),
    "warn-back": ("#fdf0dc", "#362509"),
    "bad": ("#b3261e", "#ff8f85"),
    "bad-back": ("#fde8e6", "#3d1512"),
    # Okabe & Ito's, darkened where they would be pale on white.
    "series-0": ("#0072b2", "#56b4e9"),
    "series-1": ("#d55e00", "#ff8f3c"),
    "series-2": ("#008a66", "#2fd0a0"),
    "series-3": ("#b85f93", "#e79fc6"),
    "series-4": ("#9a6c00", "#f0c000"),
    "series-5": ("#3b3f46", "#d5d9de"),
    "series-6": ("#5a4fcf", "#aaa2ff"),
    "series-7": ("#7a4a21", "#d2a679"),
    "shade-0": ("#eef4fb", "#1b2836"),
    "shade-1": ("#c9dff2", "#1f4264"),
    "shade-2": ("#92c0e4", "#2a6399"),
    "shade-3": ("#3f87c4", "#5fa4da"),
    "shade-4": ("#0b4a80", "#bfe0fb"),
    "shade-none": ("#f3f3f4", "#23272d"),
    "on-shade-0": ("#1b1f25", "#e8eaee"),
    "on-shade-1": ("#1b1f26", "#e8eaef"),
    "on-shade-2": ("#1b1f27", "#f4f6f8"),
    "on-shade-3": ("#0b0d10", "#0b0d11"),
    "on-shade-4": ("#fefefe", "#0b0d12"),
    "on-shade-none": ("#1b1f28", "#e8eaec"),
}

SERIES = 8
"""So many lines are told apart by colour, dashes and shape."""
SHADES = 5

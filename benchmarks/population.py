"""Who the applicants are: the levels of every column, and the shares and rates behind the draws.

The people are invented; shares and levels follow public US mortgage records (HMDA) in kind. Two
effects are planted:

1. Rates that truly differ between groups: approvals and repayment by race and age, and approvals of
   Black women beyond what sex or race alone shows.
2. A confounding by `purpose`: within every purpose women are approved more often than men, overall
   less often, for they apply for the purposes that are granted least.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SEXES = ("Male", "Female", "Sex Not Available")
RACES = (
    "White",
    "Black or African American",
    "Asian",
    "American Indian or Alaska Native",
    "Native Hawaiian or Other Pacific Islander",
    "Two or more races",
    "Race Not Available",
)
ETHNICITIES = ("Not Hispanic or Latino", "Hispanic or Latino", "Ethnicity Not Available")
AGES = ("<25", "25-34", "35-44", "45-54", "55-64", "65-74", ">74", "Age Not Available")
PURPOSES = (
    "Home purchase",
    "Refinancing",
    "Cash-out refinancing",
    "Home improvement",
    "Other purpose",
)
ANSWERS = ("no", "yes")
DECISIONS = ("deny", "approve")

_NORTHEAST = "NY 202 PA 130 NJ 93 MA 70 CT 36 NH 14 ME 14 RI 11 VT 6"
_MIDWEST = "IL 128 OH 118 MI 101 IN 68 MO 62 WI 59 MN 57 IA 32 KS 29 NE 20 SD 9 ND 8"
_SOUTH = (
    "TX 291 FL 215 GA 107 NC 104 VA 86 TN 69 MD 62 SC 51 AL 50 LA 47 KY 45 OK 40 AR 30 MS 30 "
    "WV 18 DE 10 DC 7"
)
_WEST = "CA 395 WA 77 AZ 72 CO 58 OR 42 UT 33 NV 31 NM 21 ID 18 HI 15 MT 11 AK 7 WY 6"
_REGIONS = tuple(text.split() for text in (_NORTHEAST, _MIDWEST, _SOUTH, _WEST))

STATES = tuple(name for region in _REGIONS for name in region[::2])
REGION_OF_STATE = np.repeat(np.arange(4), [len(region) // 2 for region in _REGIONS])


def state_shares() -> Floats:
    """The share of each state, by its people."""
    people = np.array([int(number) for region in _REGIONS for number in region[1::2]], np.float64)
    shares: Floats = people / people.sum()
    return shares


def race_shares() -> Floats:
    """The share of each race in a region: `[region, race]`."""
    return _shares(
        [
            [0.660, 0.075, 0.070, 0.006, 0.002, 0.007, 0.180],
            [0.760, 0.070, 0.030, 0.007, 0.001, 0.006, 0.126],
            [0.640, 0.150, 0.045, 0.009, 0.002, 0.007, 0.147],
            [0.600, 0.040, 0.130, 0.013, 0.009, 0.010, 0.198],
        ]
    )


def ethnicity_shares() -> Floats:
    """The share of each ethnicity in a region and race: `[region, race, ethnicity]`."""
    hispanic = np.outer([0.09, 0.05, 0.14, 0.22], [1.2, 0.25, 0.1, 1.2, 0.6, 0.8, 0.25])
    silent = np.broadcast_to([0.03, 0.05, 0.05, 0.06, 0.06, 0.04, 0.80], hispanic.shape)
    hispanic = hispanic * (1 - silent)
    return np.stack([1 - hispanic - silent, hispanic, silent], axis=-1)


def sex_shares() -> Floats:
    """The share of each sex in a race: `[race, sex]`."""
    women = np.array([0.37, 0.52, 0.35, 0.42, 0.39, 0.41, 0.08])
    silent = np.array([0.02, 0.03, 0.03, 0.04, 0.04, 0.03, 0.79])
    return np.stack([1 - women - silent, women, silent], axis=-1)


def age_shares() -> Floats:
    """The share of each age band in a sex: `[sex, age]`."""
    return _shares(
        [
            [0.050, 0.235, 0.245, 0.190, 0.155, 0.085, 0.030, 0.010],
            [0.045, 0.215, 0.225, 0.190, 0.170, 0.105, 0.040, 0.010],
            [0.025, 0.150, 0.180, 0.150, 0.130, 0.070, 0.025, 0.270],
        ]
    )


def purpose_shares() -> Floats:
    """The share of each purpose in a sex and age: `[sex, age, purpose]`; the confounding."""
    of_sex = np.array(
        [
            [0.52, 0.22, 0.11, 0.09, 0.06],
            [0.32, 0.17, 0.21, 0.17, 0.13],
            [0.42, 0.20, 0.16, 0.13, 0.09],
        ]
    )
    young = np.linspace(1, 0, len(AGES))
    tilt = np.stack([1 + young, 0.8 + 0 * young, *[1.3 - 0.6 * young] * 3], axis=-1)
    return _shares(of_sex[:, None, :] * tilt[None, :, :])


def repaid_rates() -> Floats:
    """The rate of repayment: `[purpose, race, age]`."""
    purpose = np.array([0.92, 0.90, 0.86, 0.88, 0.84])
    race = np.array([0.0, -0.035, 0.01, -0.03, -0.02, -0.01, -0.01])
    age = np.array([-0.05, -0.015, 0.0, 0.01, 0.015, 0.01, -0.005, 0.0])
    return np.clip(_sum(purpose, race, age), 0.02, 0.98)


def approved_rates() -> Floats:
    """The rate of approval: `[repaid, purpose, sex, race, age]`."""
    repaid = np.array([-0.30, 0.0])
    purpose = np.array([0.88, 0.78, 0.62, 0.58, 0.48])
    sex = np.array([0.0, 0.04, -0.02])
    race = np.array([0.0, -0.11, 0.01, -0.09, -0.06, -0.03, -0.04])
    age = np.array([-0.05, 0.0, 0.01, 0.01, 0.0, -0.02, -0.05, -0.03])
    rates = _sum(repaid, purpose, sex, race, age)
    rates[:, :, SEXES.index("Female"), RACES.index("Black or African American")] -= 0.06
    return np.clip(rates, 0.02, 0.98)


def _shares(weights: Floats | list[list[float]]) -> Floats:
    """Weights that add up to 1 on the last axis."""
    known = np.asarray(weights, np.float64)
    shares: Floats = known / known.sum(axis=-1, keepdims=True)
    return shares


def _sum(*effects: Floats) -> Floats:
    """Every combination of effects, an axis for each, added up."""
    total = np.zeros([len(effect) for effect in effects])
    for axis, effect in enumerate(effects):
        total += effect.reshape([-1 if at == axis else 1 for at in range(len(effects))])
    return total

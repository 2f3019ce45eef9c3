# SPDX-License-Identifier: GPL-2.0-only
"""Changes to Linux for simulated time, their configuration, and TCP variants as modules."""

from pathlib import Path

__version__ = "0.1.0"

#: The folder with the patches, `fragment.config`, `wifi.config`, `COPYING` and the folder `modules`.
FOLDER = Path(__file__).parent

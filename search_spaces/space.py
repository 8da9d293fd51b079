"""What may vary: parameters with their constraints, and assignments drawn from them."""

from typing import Any

Assignment = dict[str, Any]

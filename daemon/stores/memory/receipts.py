"""Receipts in memory, as they are on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from actors.ports import ReceiptTaken

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from actors.ports import Receipt


class MemoryReceipts:
    """What was answered under which key, and when that was kept."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        """Begin with none."""
        self._clock = clock
        self._receipts: dict[tuple[str, str, str], tuple[datetime, Receipt]] = {}

    async def receipt(self, company_id: str, path: str, key: str) -> Receipt | None:
        """The receipt kept under that key."""
        _, receipt = self._receipts.get((company_id, path, key), (None, None))
        return receipt

    async def add_receipt(self, receipt: Receipt) -> None:
        """Keep a receipt; ReceiptTaken when there is any under its key."""
        self._refuse_taken(receipt)
        self._keep(receipt)

    async def keep_receipt(self, receipt: Receipt) -> None:
        """Keep a receipt, or complete the unanswered one under the same key; ReceiptTaken when it is answered."""
        key = (receipt.company_id, receipt.path, receipt.key)
        at, kept = self._receipts.get(key, (self._clock(), receipt))
        if key in self._receipts and kept.status is not None:
            raise ReceiptTaken("The request under this idempotency key is answered already.")
        run_id = receipt.run_id if receipt.run_id is not None else kept.run_id
        self._receipts[key] = at, replace(receipt, fingerprint=kept.fingerprint, run_id=run_id)

    async def drop_receipts(self, before: datetime) -> int:
        """Drop the receipts kept before that time; returns how many."""
        old = [key for key, (at, _) in self._receipts.items() if at < before]
        for key in old:
            del self._receipts[key]
        return len(old)

    def _refuse_taken(self, receipt: Receipt | None) -> None:
        """ReceiptTaken when there is a receipt under its key."""
        if receipt is not None and (receipt.company_id, receipt.path, receipt.key) in self._receipts:
            raise ReceiptTaken("The idempotency key is already used.")

    def _keep(self, receipt: Receipt | None) -> None:
        if receipt is not None:
            self._receipts[receipt.company_id, receipt.path, receipt.key] = self._clock(), receipt

// SPDX-License-Identifier: MIT OR GPL-2.0-only
// Locks of ranges of keys: one that waits, and one that does not.
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let locks = lathwork::RangeLocks::with_usual(64);
    let mine = locks.lock(4096..12288u64)?; // waits
    let other = locks.try_lock_shared(0..16); // Err(NotLocked::Busy)
    assert!(other.is_ok() && locks.try_lock(8192..8193).is_err());
    drop(mine); // unlocks
    drop(other);
    Ok(())
}

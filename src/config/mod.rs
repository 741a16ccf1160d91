//! Settings: as written in their layers, then resolved once.

//! Fuzz targets for the decoders, in `tests/`.

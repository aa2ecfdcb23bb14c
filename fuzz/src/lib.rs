//! The fuzz targets are in `tests/`: one for each decoder.

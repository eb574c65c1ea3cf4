#ifndef TIDEGATE_CZLIB_SHIM_H
#define TIDEGATE_CZLIB_SHIM_H

#include <zlib.h>

// deflateInit2 is a macro; 15 + 16 window bits ask for a gzip header (RFC 1952).
static inline int tg_gzip_init(z_stream *stream, int level) {
    return deflateInit2(stream, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
}

// inflateInit2 is also a macro.
static inline int tg_inflate_init(z_stream *stream, int window_bits) { return inflateInit2(stream, window_bits); }

#endif

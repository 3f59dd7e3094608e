// compress.hpp - answers that are compressed for clients that ask for it, and requests that come compressed.
#pragma once

#include <cstddef>

#include <weft/detail/export.hpp>
#include <weft/http/router.hpp>

namespace weft::http {

struct compress_options {
    /// Bodies of fewer bytes are sent as they are: they would not get smaller by a packet.
    std::size_t least = 1024;
    /// 1 to 9, of gzip as of zstd: the higher, the smaller and the slower.
    int level = 4;
};

/// A middleware for router::use() that compresses bodies by zstd or gzip, as the client's
/// Accept-Encoding prefers; zstd if both are equal:
///
///     app.use(weft::http::compress());
///
/// What it compresses gets Content-Encoding and `Vary: Accept-Encoding`, and a strong ETag becomes
/// a weak one (W/), because the bytes are others. So If-None-Match has to be compared weakly, as
/// files() does, and If-Match cannot succeed with such a tag. A stream is compressed while it is
/// written, without a Content-Length; body_writer::flush() lets the client have all that was
/// written before it.
///
/// It leaves alone: bodies under `least`; pictures, films, sound, archives and fonts that are
/// compressed already, and application/octet-stream, which mostly is one of these; event streams,
/// since a compressor holds up to 1.2 MB for as long as one is open; answers without Content-Type;
/// answers that have Content-Encoding, Content-Range, a digest,
/// or `Cache-Control: no-transform`; 204, 206 and 304. A client that refuses to take a body as it
/// is ("identity;q=0") gets the first four compressed, too. If it takes nothing that there is, the
/// body is sent as it is, since the handler has run by then.
///
/// A page that has a secret in it (a token against forged forms) and text that a stranger can
/// choose must not be compressed: its length tells how much both have in common, so the secret can
/// be guessed byte by byte even through TLS (BREACH). Give such answers `Cache-Control:
/// no-transform`.
///
/// \parks   it yields after each 64 KiB, so that other fibers run while a large body is compressed.
/// \throws  std::invalid_argument if the level is none.
WEFT_EXPORT [[nodiscard]] middleware compress(compress_options options = {});

struct decompress_options {
    /// Of a decompressed body, in bytes; more is answered by 413. A small body may become a
    /// thousand times as large, so max_body_bytes does not limit it. weft::no_limit: all that there
    /// is.
    std::size_t most = 1048576;
};

/// A middleware for router::use() that decompresses the body of a request with `Content-Encoding:
/// gzip` or `zstd`. What runs inside it gets a copy of the request with the plain body and without
/// that field and the digests of what was sent.
///
///  the body                                  answered by
///  has more than `most` bytes decompressed   413
///  is malformed or ends early                400
///  has another coding, or several            415 with Accept-Encoding
///
/// A body that the route reads while it arrives (body_handler) stays as it is sent, and so does a
/// request without a body.
///
/// \parks  it yields after each 64 KiB that go in or come out.
WEFT_EXPORT [[nodiscard]] middleware decompress(decompress_options options = {});

}  // namespace weft::http

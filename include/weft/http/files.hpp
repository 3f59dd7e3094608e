// files.hpp - how router::files() serves the files of a directory.
#pragma once

#include <chrono>
#include <string>

#include <weft/detail/export.hpp>
#include <weft/detail/requirements.hpp>

namespace weft::http {

struct files_options {
    /// The file that answers for a directory. Empty: a directory is answered by 404.
    std::string index = "index.html";
    /// For how long clients and proxies may use a file without asking again (max-age). Zero: they
    /// ask each time (no-cache), and get a 304 if it is the same.
    std::chrono::seconds cache = std::chrono::seconds::zero();
    /// Whether a part of a file can be asked for: a download is continued, a film is wound.
    bool ranges = true;
    /// Whether a.js.zst or a.js.gz is sent in place of a.js, if it lies beside it, is not older, is
    /// not empty and the client takes it. It must be put there by a rename: what is still being
    /// written would be sent as far as it goes.
    bool precompressed = true;
    /// Whether names that begin with a dot are served, for instance .well-known.
    bool hidden = false;
};

}  // namespace weft::http

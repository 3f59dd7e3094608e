#include <weft/io/stream_layer.hpp>

namespace weft::io {

stream_layer::~stream_layer() = default;

}  // namespace weft::io

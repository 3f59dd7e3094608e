#include "io/reporting.hpp"

#include <new>

#include <weft/stop.hpp>

#include "io/operation.hpp"

namespace weft::detail {

std::error_code caught_error() {
    try {
        throw;
    } catch (const cancelled&) {
        return interrupt_error(interrupt_reason());
    } catch (const std::system_error& e) {
        return e.code();
    } catch (const std::bad_alloc&) {
        return std::make_error_code(std::errc::not_enough_memory);
    }
}

}  // namespace weft::detail

// weft.hpp - includes some headers, forgets one, and leaves out others.
//
// Left out:
//   apart/      belongs to another library
//   absent.hpp  BAD: there is no such header
//   known.hpp   BAD: it is included
#pragma once

#include <weft/known.hpp>
#include <weft/unversioned.hpp>

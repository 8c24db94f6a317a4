// Linked into every test program. With this second file that includes all public headers, a
// function or variable that a header defines without `inline` is a link error.
#include "gpusched/gpusched.h"

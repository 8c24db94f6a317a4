// Scheduler, Decision and Refusal as Python holds them.
#ifndef GPUSCHED_BINDINGS_ENGINE_H_
#define GPUSCHED_BINDINGS_ENGINE_H_

#include <pybind11/pybind11.h>

namespace gpusched::bindings {

void BindEngine(pybind11::module_& module);

}  // namespace gpusched::bindings

#endif  // GPUSCHED_BINDINGS_ENGINE_H_

// Plan with its steps, and Effect, as Python holds them: the library's own values.
#ifndef GPUSCHED_BINDINGS_PLAN_H_
#define GPUSCHED_BINDINGS_PLAN_H_

#include <pybind11/pybind11.h>

namespace gpusched::bindings {

void BindPlan(pybind11::module_& module);

}  // namespace gpusched::bindings

#endif  // GPUSCHED_BINDINGS_PLAN_H_

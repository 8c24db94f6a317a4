// Scheduler and Decision as Python holds them.
#ifndef GPUSCHED_BINDINGS_SCHEDULER_H_
#define GPUSCHED_BINDINGS_SCHEDULER_H_

#include <pybind11/pybind11.h>

namespace gpusched::bindings {

void BindScheduler(pybind11::module_& module);

}  // namespace gpusched::bindings

#endif  // GPUSCHED_BINDINGS_SCHEDULER_H_

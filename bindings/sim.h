// Workloads and the fill experiment as Python holds them.
#ifndef GPUSCHED_BINDINGS_SIM_H_
#define GPUSCHED_BINDINGS_SIM_H_

#include <pybind11/pybind11.h>

namespace gpusched::bindings {

void BindSim(pybind11::module_& module);

}  // namespace gpusched::bindings

#endif  // GPUSCHED_BINDINGS_SIM_H_

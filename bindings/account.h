// How jobs stand and why they wait, as Python sees it: copies, valid for ever.
#ifndef GPUSCHED_BINDINGS_ACCOUNT_H_
#define GPUSCHED_BINDINGS_ACCOUNT_H_

#include <pybind11/pybind11.h>

#include <cstdint>
#include <string>
#include <vector>

#include "gpusched/engine/account.h"
#include "refusal.h"

namespace gpusched::bindings {

namespace py = pybind11;

struct PyGroupAccount {
  std::string job;
  std::string group;
  std::int64_t alternative = 0;
  std::int64_t need = 0;
  std::int64_t placed = 0;
  PyRefusal reason;
  std::string text;
};

struct PyAccount {
  JobAccount account;  // without its groups
  std::vector<PyGroupAccount> groups;
};

struct PyHoldInfo {
  std::string name;
  std::string owner;
  std::string node;
  DeviceMask devices;
  std::vector<MigInstance> instances;
  ShapeSpec shape;
  Time until = kNoDeadline;
};

// Completes an account of the present state.
PyAccount AccountOf(const ClusterState& state, JobAccount account);
PyHoldInfo HoldInfoOf(const ClusterState& state, const Hold& hold);

void BindAccount(py::module_& module);

}  // namespace gpusched::bindings

#endif  // GPUSCHED_BINDINGS_ACCOUNT_H_

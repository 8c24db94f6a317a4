// What can be seen of an engine.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "account.h"
#include "arguments.h"
#include "engine.h"
#include "gpusched/spec/field_error.h"
#include "gpusched/state/audit.h"
#include "gpusched/state/state_hash.h"
#include "node_info.h"
#include "policy.h"
#include "search_path.h"
#include "status.h"

namespace gpusched::bindings {
namespace {

py::tuple Jobs(const PyEngine& self) {
  py::list jobs;
  for (JobStatus& job : self.engine().Jobs()) jobs.append(py::cast(std::move(job)));
  return py::tuple(jobs);
}

JobStatus Job(const PyEngine& self, const py::object& name) {
  return ValueOrRaise(self.engine().Job(Text(name, "job", "name")));
}

py::tuple Nodes(const PyEngine& self) {
  const ClusterState& state = self.engine().state();
  py::list nodes;
  for (const std::uint32_t slot : state.nodes().order()) nodes.append(NodeInfoOf(state, slot));
  return py::tuple(nodes);
}

PyNodeInfo Node(const PyEngine& self, const py::object& name) {
  const ClusterState& state = self.engine().state();
  const std::string wanted = Text(name, "node", "name");
  if (const auto node = state.FindNode(wanted)) return NodeInfoOf(state, node->slot);
  Raise(FieldError(absl::StatusCode::kNotFound, "", "node", Quoted(wanted),
                   "no node of this name is in the cluster"));
}

py::tuple Holds(const PyEngine& self) {
  const ClusterState& state = self.engine().state();
  py::list holds;
  for (const Hold& hold : state.holds().list()) holds.append(HoldInfoOf(state, hold));
  return py::tuple(holds);
}

py::dict Settings(const PyEngine& self) {
  const EngineSettings& settings = self.engine().settings();
  py::dict dict;
  dict["start_timeout"] = settings.start_timeout;
  dict["repair_timeout"] = settings.repair_timeout;
  dict["strict_fifo"] = settings.strict_fifo;
  dict["gang_search_limit"] = settings.gang_search_limit;
  return dict;
}

std::string EngineText(const PyEngine& self) {
  if (self.deciding()) return "<Engine, in the middle of a decision>";
  const ClusterState& state = self.engine().state();
  return absl::StrCat("<Engine of ", state.node_count(), " nodes and ", state.jobs().size(),
                      " jobs at ", state.now(), " us>");
}

}  // namespace

void DefineReading(PyEngineClass& type) {
  type.def("jobs", &Jobs, "All live jobs, JobInfos in the order in which they are served.")
      .def("job", &Job, py::arg("name"), "A live job. Raises NotFound.")
      .def("nodes", &Nodes, "All nodes, NodeInfos in the order of joining; ties break by it.")
      .def("node", &Node, py::arg("name"), "A node as it is now. Raises NotFound.")
      .def("holds", &Holds, "All holds, HoldInfos in the order of their making.")
      .def_property_readonly(
          "now", [](const PyEngine& self) { return self.engine().state().now(); },
          "The latest time that was told, by tick or by a plan that was committed.")
      .def_property_readonly(
          "version", [](const PyEngine& self) { return self.engine().version(); },
          "Counts the changes; a plan is made for one version.")
      .def_property_readonly(
          "path_counts", [](const PyEngine& self) { return PathDict(self.engine().path_counts()); },
          "How many searches for a place were computed in which way.")
      .def_property_readonly(
          "state_hash",
          [](const PyEngine& self) {
            return absl::StrFormat("%016x", StateHash(self.engine().state()));
          },
          "16 hex digits for what is true now, whatever the way it came about.")
      .def_property_readonly("settings", &Settings,
                             "start_timeout, repair_timeout, strict_fifo, gang_search_limit.")
      .def_property_readonly("policy", &PyEngine::policy, "The policy.")
      .def(
          "audit", [](const PyEngine& self) { RaiseIfError(Audit(self.engine().state())); },
          "Recounts the ledger from the tasks. Raises InternalError at the first difference.")
      .def("__repr__", &EngineText);
}

}  // namespace gpusched::bindings

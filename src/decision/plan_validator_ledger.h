// What stands on each node, and the rules that a placement keeps there.
#ifndef GPUSCHED_SRC_DECISION_PLAN_VALIDATOR_LEDGER_H_
#define GPUSCHED_SRC_DECISION_PLAN_VALIDATOR_LEDGER_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "plan_validator_world.h"

namespace gpusched::validator {

// A step with what it speaks of, looked up.
struct Placing {
  const Place& step;
  const Job& job;
  const TaskGroupSpec& group;
  const Node& node;
};

using LabelText = std::pair<std::string, std::string>;

// What tasks do on one node. Nothing is ever taken off: within a plan, evicted tasks stay.
struct NodeLedger {
  NodeOccupants used;
  std::map<std::pair<std::string, std::string>, std::int64_t> tasks;  // by job and group
  std::map<LabelText, std::string> labels;  // that tasks bear here, and a job that does
  std::map<LabelText, std::string>
      unwanted;  // that tasks here will not have beside them, and whose they are
};

class Ledger {
 public:
  // Adds up every placed task of the world.
  explicit Ledger(const World& world);

  void Add(const World& world, const std::string& node_name, const Node* node, const Job& job,
           const TaskGroupSpec& group, DeviceMask devices,
           const std::vector<MigInstance>& instances);

  // Each says what is wrong; nothing: the rule is kept.
  std::string WrongDevices(const Placing& placing) const;
  std::string WrongRoom(const World& world, const Placing& placing) const;
  std::string WrongGrant(const World& world, const Placing& placing) const;
  std::string WrongModel(const World& world, const Placing& placing) const;
  std::string WrongNumberOnNode(const Placing& placing) const;
  std::string WrongCompany(const Placing& placing) const;

  const std::map<std::string, NodeLedger>& nodes() const { return nodes_; }

 private:
  const NodeLedger& At(const std::string& node) const;
  std::string MissingCompany(const Placing& placing, const Label& label) const;

  std::map<std::string, NodeLedger> nodes_;
  std::map<LabelText, std::string> labels_anywhere_;
};

}  // namespace gpusched::validator

#endif  // GPUSCHED_SRC_DECISION_PLAN_VALIDATOR_LEDGER_H_

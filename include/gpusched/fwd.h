// Names without their definitions, for headers that only pass things on.
#ifndef GPUSCHED_FWD_H_
#define GPUSCHED_FWD_H_

namespace gpusched {

class AnyScore;
class ClusterState;
class Engine;
class Journal;
class NodeView;
class Placer;
class Plan;
class PlanValidator;
class ScoreRegistry;
class StateView;
class TargetWorkload;
class Transaction;
struct Decision;
struct Effect;
struct JobSpec;
struct NodeSpec;
struct Placement;
struct Refusal;
struct Shape;
struct ShapeSpec;

}  // namespace gpusched

#endif  // GPUSCHED_FWD_H_

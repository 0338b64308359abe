// The place of this process in a job, as launchers put it into the environment.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "tandem/core/error.h"
#include "tandem/parallel/distributed/store.h"

namespace tandem::distributed {

struct Environment {
  int rank = 0, world_size = 1;              ///< among all processes of the job
  int local_rank = 0, local_world_size = 1;  ///< among those on this machine
  std::string master_addr;                   ///< host of the store; empty if not given
  uint16_t master_port = 0;                  ///< 0 if not given
  std::string job_key;                       ///< TANDEM_JOB_KEY: shared by the processes of the job
  /// The launcher that the values come from: "torchrun" (RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE), "Open
  /// MPI" (OMPI_COMM_WORLD_RANK, …), "PMI" (PMI_RANK, …), "Slurm" (SLURM_PROCID, …) or "none".
  std::string launcher = "none";
  /// Whether the launcher, not rank 0, serves the store (TORCHELASTIC_USE_AGENT_STORE).
  bool launcher_has_store = false;
  /// Number of earlier runs of this job that failed and were restarted (TORCHELASTIC_RESTART_COUNT).
  int restart = 0;

  /// Reads the environment. Where several launchers have set their variables, RANK and WORLD_SIZE decide, and
  /// those of MPI must agree. Slurm's count only if no other launcher's are set, because torchrun and mpirun start
  /// their daemons with srun; and below torchrun (a variable TORCHELASTIC_… is set) nobody else's count.
  ///
  /// LOCAL_RANK and LOCAL_WORLD_SIZE (and their siblings) may be missing together: then all ranks are on one machine
  /// if MASTER_ADDR is a loopback address, and each has its own machine otherwise.
  ///
  /// MASTER_ADDR and MASTER_PORT are common to all. Under Slurm the default address is the first host of
  /// SLURM_STEP_NODELIST (or SLURM_JOB_NODELIST), and the default port 15000 + (SLURM_JOB_ID + 1009 SLURM_STEP_ID)
  /// mod 10000. SLURM_PROCID counts only with the SLURM_STEP_ID of a step of srun: the shell of salloc or sbatch is
  /// no rank. Under Open MPI the default port and job key follow from PMIX_NAMESPACE. On a single machine
  /// (local_world_size == world_size > 1) the default address is 127.0.0.1.
  ///
  /// Throws Error that names the variables and their values if one is not a number, is out of range, is missing
  /// while its siblings are set, or contradicts another.
  static Environment read();
  /// Whether a launcher started this process as one of several or of one.
  bool launched() const { return launcher != "none"; }
};

/// The store that `environment` describes: rank 0 (or the launcher) serves it, and listens on master_addr only. If
/// the job spans machines and master_addr is a name that means a loopback address on rank 0's own machine
/// (/etc/hosts), rank 0 listens on every interface. A single process without a master gets a HashStore. Throws Error
/// when the address or the port is missing, and DistributedError as TCPStore does.
std::shared_ptr<Store> make_store(const Environment& environment, Milliseconds timeout = Store::kDefaultTimeout);

}  // namespace tandem::distributed

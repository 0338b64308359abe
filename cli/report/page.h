// tandem report's page: one HTML file that needs nothing else.
#pragma once
#include <string>
#include <vector>

#include "tandem/cli/report/evaluation.h"
#include "tandem/cli/report/profile_rows.h"
#include "tandem/cli/report/run_record.h"

namespace tandem::cli {

struct ReportedRun {
  RunRecord record;
  Evaluation evaluation;
  std::vector<ProfileTrack> profile;
  std::string profile_file;     ///< "": the run has none
  std::string profile_problem;  ///< why it cannot be shown
};

/// `written`: when and by what, for the end of the page.
std::string report_page(const std::vector<ReportedRun>& runs, const std::string& written);

// The parts of the page.
std::string overview_section(const std::vector<ReportedRun>& runs);
std::string curves_section();
/// What the script draws: the runs' names, and panels of curves.
std::string curves_json(const std::vector<ReportedRun>& runs);
std::string configuration_section(const std::vector<ReportedRun>& runs);
/// `folded`: only its heading is visible until it is opened.
std::string evaluation_section(const ReportedRun& run, std::size_t number, bool folded);
/// The hashes of the runs' states, and how to verify them.
std::string hashes_section(const std::vector<ReportedRun>& runs);
std::string profile_section(const std::vector<ReportedRun>& runs);

/// The run's colour and name.
std::string run_label(const ReportedRun& run, std::size_t number);
/// "images_per_second" as "Images per second".
std::string figure_title(const std::string& name);

extern const char* const kReportStyle;
extern const char* const kReportScript;

}  // namespace tandem::cli

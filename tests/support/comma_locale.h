// SPDX-License-Identifier: Apache-2.0
// Locales in which numbers have other signs, as a host of the library may have set them.
#pragma once

#include <locale>
#include <string>

#include "io/files.h"

namespace narrowgauge::testing_support {

// While it lives, C++'s streams write 1234.5 as 1.234,5. It needs nothing that is installed.
class CommasInStreams {
 public:
  CommasInStreams();
  ~CommasInStreams();
  CommasInStreams(const CommasInStreams&) = delete;

 private:
  std::locale former_;
};

// While it lives, C has the locale of a language, "de_DE" or "tr_TR", which localedef makes.
class LocaleOfLanguage {
 public:
  explicit LocaleOfLanguage(const std::string& language);
  ~LocaleOfLanguage();
  LocaleOfLanguage(const LocaleOfLanguage&) = delete;
  const std::string& why_not() const { return why_not_; }  // "" where it is set

 private:
  testing_files::TemporaryFolder folder_;
  std::string former_, why_not_;
};

}  // namespace narrowgauge::testing_support

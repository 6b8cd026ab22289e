// SPDX-License-Identifier: Apache-2.0
// Texts as what is trained on, with the language models that read them.
#pragma once

#include <memory>

#include "cli/progress/result_words.h"
#include "cli/task/data_facts.h"
#include "cli/task/settings.h"
#include "narrowgauge/model.h"
#include "narrowgauge/tokenizer.h"

namespace narrowgauge::cli {

struct Task;

inline constexpr const char* tokenizer_file = "tokenizer.json";  // in each checkpoint of a run

// What a task on a text has beside its sources.
struct TextFacts {
  std::shared_ptr<const Tokenizer> tokenizer;
  ResultWords words;
};

// Reads settings.data, with the tokenizer of the settings if they have one, else with a new one.
// `facts` are found out unless it is nullptr. Throws ModelError, DataError and UsageError.
Task text_task(const Settings& settings, DataFacts* facts);
// Throws DataError for a run without its tokenizer.
std::shared_ptr<const Tokenizer> tokenizer_of(const Settings& settings);
// The network and its loss, of a run whose text may be gone; and the network alone.
Task text_network_task(const Settings& settings);
Model text_model_of(const Settings& settings);

ResultWords words_of(const Task& task);

}  // namespace narrowgauge::cli

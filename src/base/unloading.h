// SPDX-License-Identifier: Apache-2.0
// What happens when dlclose() unloads the library. At the end of a program its objects stay as they
// are: destructors of the host's static objects, and threads that still run, may use them until the
// process is gone.
#pragma once

#include <utility>

namespace narrowgauge {

class UnloadStep {
 public:
  UnloadStep() = default;
  UnloadStep(const UnloadStep&) = delete;
  UnloadStep& operator=(const UnloadStep&) = delete;
  // May delete the step. The program may be ending: then all but the host's last functions have
  // run, other threads may still compute, and the code may be taken away or not.
  virtual void unload(bool program_ends) = 0;

 protected:
  ~UnloadStep() = default;

 private:
  friend struct UnloadSteps;
  UnloadStep* added_before_ = nullptr;
};

// Has the step run at unloading, before all those added earlier. It must last until then.
void at_unloading(UnloadStep& step) noexcept;

// Has it run behind all those of at_unloading().
void at_the_end_of_unloading(UnloadStep& step) noexcept;

// Has unloading tell the end of the program from dlclose(). Called by whoever may be at work then,
// but not while static objects of the library are made.
void watch_for_end_of_program() noexcept;

// Makes an object for a static reference, `static const Table& table = immortal<Table>(...)`, which
// is destroyed when the library is unloaded before the program ends.
template <class T, class... Arguments>
T& immortal(Arguments&&... arguments) {
  struct Kept final : UnloadStep {
    explicit Kept(Arguments&&... given) : object(std::forward<Arguments>(given)...) {}
    void unload(bool program_ends) override {
      if (!program_ends) delete this;
    }
    T object;
  };
  auto* const kept = new Kept(std::forward<Arguments>(arguments)...);
  at_unloading(*kept);
  return kept->object;
}

}  // namespace narrowgauge

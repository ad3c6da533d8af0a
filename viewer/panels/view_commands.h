// What actions and panels may ask of the viewer.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "viewer/panels/ui.h"

namespace vantage::view {

class ViewedRuns;

/// What an action asks of the owner of the window.
enum class Request : std::uint8_t { none, picture, exports, quit };

class ViewCommands {
public:
    virtual ViewState& state() = 0;
    virtual const ViewState& state() const = 0;
    virtual Interaction& at() = 0;
    virtual const Interaction& at() const = 0;
    /// The runs that are shown: the head in focus, rows, columns, tokens.
    virtual const ViewedRuns& runs() const = 0;
    virtual const Layout& layout() const = 0;
    /// Map panels from left to right. The last one has the colour bar.
    virtual const std::vector<Pane>& panes() const = 0;
    /// Range of the colour bar that "reset" restores.
    virtual const ValueRange& default_ends() const = 0;

    /// Whether the model takes commands. Says so in the window if not.
    virtual bool commanded() = 0;
    virtual void run_prompt() = 0;
    virtual void stop() = 0;
    virtual void pause_or_resume() = 0;
    /// One more token.
    virtual void step() = 0;
    /// Selects what is shown of two runs; says so where there is one.
    virtual void show(ShownRuns what) = 0;
    virtual void toggle_blinking() = 0;

    /// Shows a line in the menu bar for a few seconds.
    virtual void say(const std::string& note) = 0;
    virtual void copy_command_line() = 0;
    virtual void request(Request what) = 0;
    virtual void set_scale(float scale) = 0;
    virtual float scale() const = 0;

protected:
    ~ViewCommands() = default;
};

/// Runs the prompt, or stops a run.
void run_or_stop(ViewCommands& view);

}  // namespace vantage::view

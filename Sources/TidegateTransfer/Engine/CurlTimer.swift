internal import TidegateLoop
internal import TidegateCore

/// The one timer of the loop that serves libcurl; moved only when it would fire too late.
///
/// libcurl asks for another moment with every transfer, usually a later one: firing once too early costs less than
/// following it.
struct CurlTimer {
    private var armed: (id: TimerID, deadline: MonotonicTime)?

    /// It fired.
    mutating func fired() { self.armed = nil }

    /// Makes sure that the loop wakes at `deadline`.
    mutating func arm(at deadline: MonotonicTime?, on loop: Loop) {
        guard let deadline else { return }
        if let armed = self.armed {
            guard deadline < armed.deadline else { return }
            loop.cancel(armed.id)
        }
        self.armed = (loop.schedule(at: deadline, token: EngineTimer.curl.token), deadline)
    }
}

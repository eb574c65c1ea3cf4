internal import TidegateCore

/// Decides how to observe connections, by what the kernel permits and by the load.
struct ObservationModeMachine: Sendable {
    /// A capability that the kernel or a sandbox may refuse.
    enum Part: Sendable, Hashable {
        /// Messages about endings.
        case endings
        /// Lists of sockets.
        case lists
        /// The kernel's socket diagnostics module, which provides both; it may not be loaded yet.
        case kernelPart
        /// The socket name on which other Tidegate processes announce their sockets.
        case announcements
    }

    enum Input: Sendable, Hashable {
        /// A part works, or is refused with a reason.
        case part(Part, refusal: String?)
        /// A second has passed, with the messages received and dropped in it and the connections opened by the kernel's
        /// count.
        case second(messages: Int, drops: Int, opened: Int)
        /// The kernel's counters can or cannot be read.
        case counters(isReadable: Bool)
    }

    enum Effect: Sendable, Hashable {
        /// Leave the multicast groups: the kernel then sends no messages.
        case leaveGroups
        /// Rejoin the groups and list everything.
        case joinGroups
    }

    /// More messages than this in each of three seconds are a storm.
    static let stormRate = 20_000
    /// Fewer connections than this in each of thirty seconds end a storm.
    static let calmRate = 10_000
    private static let stormSeconds = 3
    private static let calmSeconds = 30

    private enum Storm: Sendable, Hashable {
        /// How many seconds in a row exceeded the rate, or lost messages.
        case calm(loud: Int, lossy: Int)
        /// How many seconds in a row were quiet.
        case storm(quiet: Int)
    }

    private var refusals: [Part: String] = [:]
    private var hasCounters = true
    private var storm = Storm.calm(loud: 0, lossy: 0)
    /// The mode of the last event.
    private(set) var reported = ObservationMode.off

    /// Marks the current mode as reported; true if it differs from the previous one.
    mutating func report() -> Bool { exchange(&self.reported, with: self.mode) != self.mode }

    /// Handles an input.
    mutating func handle(_ input: Input) -> Effect? {
        switch input {
        case .part(let part, let refusal): self.refusals[part] = refusal
        case .counters(let isReadable): self.hasCounters = isReadable
        case .second(let messages, let drops, let opened): return self.second(messages, drops, opened)
        }
        return nil
    }

    private mutating func second(_ messages: Int, _ drops: Int, _ opened: Int) -> Effect? {
        switch self.storm {
        case .calm(let loud, let lossy):
            let (loud, lossy) = (messages > Self.stormRate ? loud + 1 : 0, drops > 0 ? lossy + 1 : 0)
            guard max(loud, lossy) >= Self.stormSeconds else {
                self.storm = .calm(loud: loud, lossy: lossy)
                return nil
            }
            self.storm = .storm(quiet: 0)
            return .leaveGroups
        case .storm(let quiet):
            let quiet = opened < Self.calmRate ? quiet + 1 : 0
            guard quiet >= Self.calmSeconds else {
                self.storm = .storm(quiet: quiet)
                return nil
            }
            self.storm = .calm(loud: 0, lossy: 0)
            return .joinGroups
        }
    }

    /// True while messages arrive faster than they can be read.
    var isStorm: Bool { if case .storm = self.storm { true } else { false } }

    /// The current mode.
    var mode: ObservationMode {
        let hasMessages = self.refusals[.endings] == nil && self.refusals[.kernelPart] == nil && !self.isStorm
        return switch (hasMessages, self.refusals[.lists] == nil) {
        case (true, true): .event
        case (true, false): .eventsOnly
        case (false, true): .poll
        case (false, false): self.hasCounters ? .counters : .off
        }
    }

    /// Why the mode is reduced, in one clause; nil in the best mode.
    var reason: String? {
        if self.isStorm {
            return "too many connections end to read a message about each; until it is calm for \(Self.calmSeconds) s, "
                + "only live ones are listed"
        }
        return self.refusals.isEmpty ? nil : Set(self.refusals.values).sorted().joined(separator: "; ")
    }
}

internal import TidegateCore

/// Decides how connections are observed: by what the kernel lets through, and by how much there is.
struct ObservationModeMachine: Sendable {
    /// What the kernel or a sandbox may refuse.
    enum Part: Sendable, Hashable {
        /// Messages about endings.
        case endings
        /// Lists of sockets.
        case lists
        /// The part of the kernel that knows sockets, which makes both: it may be missing until it is loaded.
        case kernelPart
        /// The name by which other processes of Tidegate announce their sockets.
        case announcements
    }

    enum Input: Sendable, Hashable {
        /// A part works, or is refused: why.
        case part(Part, refusal: String?)
        /// A second has passed, in which so many messages came and so many were dropped, and so many connections were
        /// opened as the kernel counts them.
        case second(messages: Int, drops: Int, opened: Int)
        /// The kernel's counters can, or cannot, be read.
        case counters(isReadable: Bool)
    }

    enum Effect: Sendable, Hashable {
        /// Leave the groups: the kernel then makes no messages.
        case leaveGroups
        /// Join the groups again, and list everything.
        case joinGroups
    }

    /// More messages than this in each of three seconds are a storm.
    static let stormRate = 20_000
    /// Fewer connections than this in each of thirty seconds are its end.
    static let calmRate = 10_000
    private static let stormSeconds = 3
    private static let calmSeconds = 30

    private enum Storm: Sendable, Hashable {
        /// So many seconds in a row were too much, or lost messages.
        case calm(loud: Int, lossy: Int)
        /// So many seconds in a row were quiet.
        case storm(quiet: Int)
    }

    private var refusals: [Part: String] = [:]
    private var hasCounters = true
    private var storm = Storm.calm(loud: 0, lossy: 0)
    /// The mode of the last event.
    private(set) var reported = ObservationMode.off

    /// The mode is reported now; true if it is another one than before.
    mutating func report() -> Bool {
        defer { self.reported = self.mode }
        return self.mode != self.reported
    }

    /// Takes what happened.
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

    /// True while there is too much to read.
    var isStorm: Bool { if case .storm = self.storm { true } else { false } }

    /// How connections are observed now.
    var mode: ObservationMode {
        let hasMessages = self.refusals[.endings] == nil && self.refusals[.kernelPart] == nil && !self.isStorm
        return switch (hasMessages, self.refusals[.lists] == nil) {
        case (true, true): .event
        case (true, false): .eventsOnly
        case (false, true): .poll
        case (false, false): self.hasCounters ? .counters : .off
        }
    }

    /// Why not better, in one clause; nil in the best mode.
    var reason: String? {
        if self.isStorm {
            return "too many connections end to read a message about each; until it is calm for \(Self.calmSeconds) s, "
                + "only live ones are listed"
        }
        return self.refusals.isEmpty ? nil : Set(self.refusals.values).sorted().joined(separator: "; ")
    }
}

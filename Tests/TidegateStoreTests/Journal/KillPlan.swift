/// One run of the kill test: which tasks are submitted, and where the first and the second process are killed.
struct KillPlan: Sendable, CustomStringConvertible {
    /// A step of the journal: `before` or `after` the transaction with the Nth entry of a kind.
    struct Step: Sendable, Hashable, CustomStringConvertible {
        var phase: String
        var entry: String
        var number = 1

        var description: String { "\(self.phase):\(self.entry):\(self.number)" }
    }

    var tasks: [String]
    var first: Step?
    var second: Step?
    /// Without a step: kill the first process so many milliseconds after its start.
    var moment: Int?

    var description: String {
        let steps = [self.first, self.second].compactMap { $0?.description }
        return
            "\(self.tasks.joined(separator: ",")) \(steps.joined(separator: ", ")) \(self.moment.map { "\($0) ms" } ?? "")"
    }

    /// The tasks that are certain to be durable when the first process is killed.
    var accepted: [String] {
        switch (self.first?.phase, self.first?.entry) {
        case (nil, _): []
        case ("before", "accepted"): Array(self.tasks.prefix((self.first?.number ?? 1) - 1))
        case (_, "accepted"): Array(self.tasks.prefix(self.first?.number ?? 1))
        default: self.tasks.count == 1 ? self.tasks : []
        }
    }

    /// Whether the journal is certain to have an offset of the download after a kill at a step.
    func hasOffset(after step: Step?) -> Bool {
        self.tasks == ["file"] && ["after:held:1", "before:placing:1"].contains(step?.description)
    }

    /// The entries that each task writes when it runs alone, in their order.
    static let entries: [(task: String, entries: [String])] = [
        ("file", ["accepted", "held", "placing", "ended"]),
        ("post", ["accepted", "sending", "ended"]),
        ("keyed", ["accepted", "tried", "ended"]),
        ("refused", ["accepted", "sending", "notSent", "tried", "ended"]),
        ("suspended", ["accepted", "suspensions", "ended"]),
    ]

    /// The entries that are certain to follow after a restart, by the step at which the first process was killed.
    ///
    /// Once `sending` is durable and `notSent` is not, the outcome is unknown and the task ends; what the server has
    /// answered once, like the 503 for `keyed`, it does not answer again.
    static func entriesAfterRestart(_ task: String, killedAt step: Step) -> [String] {
        switch (task, step.phase, step.entry) {
        case (_, "before", "accepted"), (_, "after", "ended"): []
        // The retry may be so quick that both share a transaction.
        case ("keyed", "after", "tried"): []
        case ("file", "after", "accepted"), ("file", "before", "held"): ["held", "placing", "ended"]
        case ("file", "after", "held"), ("file", "before", "placing"): ["placing", "ended"]
        case ("post", "after", "accepted"), ("post", "before", "sending"): ["sending", "ended"]
        case ("keyed", "after", "accepted"): ["tried", "ended"]
        case ("refused", "after", "accepted"), ("refused", "before", "sending"):
            ["sending", "notSent", "tried", "ended"]
        case ("suspended", "after", "accepted"), ("suspended", "before", "suspensions"): ["suspensions", "ended"]
        default: ["ended"]
        }
    }

    private static let phases = ["before", "after"]

    /// Every step of every task alone, and every step after a restart at each of them.
    static var alone: [KillPlan] {
        self.entries.flatMap { task, entries in
            entries.flatMap { entry in
                self.phases.flatMap { phase -> [KillPlan] in
                    let first = Step(phase: phase, entry: entry)
                    let seconds = self.entriesAfterRestart(task, killedAt: first).flatMap { entry in
                        self.phases.map { Step(phase: $0, entry: entry) }
                    }
                    return [KillPlan(tasks: [task], first: first)]
                        + seconds.map { KillPlan(tasks: [task], first: first, second: $0) }
                }
            }
        }
    }

    /// Every step of all tasks at once; there are as many entries `accepted` and `ended` as tasks.
    static var together: [KillPlan] {
        let tasks = self.entries.map(\.task)
        let single = Set(self.entries.flatMap(\.entries)).subtracting(["accepted", "ended"]).sorted()
        let numbered = single.map { ($0, 1) } + ["accepted", "ended"].flatMap { entry in (1...5).map { (entry, $0) } }
        return numbered.flatMap { entry, number in
            self.phases.map { KillPlan(tasks: tasks, first: Step(phase: $0, entry: entry, number: number)) }
        }
    }

    /// All tasks at once, killed at moments that are not steps.
    static var moments: [KillPlan] {
        (0..<8).map { KillPlan(tasks: self.entries.map(\.task), moment: 20 + $0 * 12) }
    }
}

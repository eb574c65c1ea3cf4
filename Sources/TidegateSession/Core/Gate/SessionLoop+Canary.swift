internal import TidegateCore
internal import TidegateTransfer

/// Who goes first after an outage, and when the others follow.
extension SessionLoop {
    /// One task goes first; the others follow spread over a time that grows with their number.
    func letGo(_ records: [TaskRecord], from desk: TargetState) {
        guard !records.isEmpty else { return }
        let ordered = records.sorted { $0.request.priority > $1.request.priority }
        let gone = Set(ordered.map(\.number))
        desk.waiting.removeAll(where: gone.contains)
        let hasCanary = desk.canary != nil || desk.isBetweenCanaries
        if !hasCanary { desk.canary = ordered.first?.number }
        for record in ordered.dropFirst(hasCanary ? 0 : 1) where !record.machine.isHeld(for: .schedule) {
            self.feed(.hold(.schedule, detail: "spread after an outage"), to: record)
            desk.followers.append(record.number)
        }
        if desk.followers.isEmpty { desk.canary = nil } else { self.schedule(.canary, at: desk, after: .seconds(1)) }
        for record in ordered { self.release(record) }
    }

    private func release(_ record: TaskRecord) {
        for reason in [HoldReason.path, .constraint] where record.machine.isHeld(for: reason) {
            self.feed(.release(reason), to: record)
        }
    }

    /// The canary sings: everybody else gets a moment of their own.
    func spreadFollowers(of desk: TargetState) {
        let followers = desk.followers
        desk.followers = []
        desk.canary = nil
        desk.canariesFailed = 0
        desk.isBetweenCanaries = false
        self.cancelAlarm(.canary, at: desk)
        guard !followers.isEmpty else { return }
        let window = Duration.seconds(min(30, max(0.25, Double(followers.count) / 200)))
        let draws = self.surroundings.dice.roll { dice in
            followers.map { _ in Backoff.random(upTo: window, using: &dice) }
        }
        for (number, delay) in zip(followers, draws.sorted()) {
            guard let record = self.records[number], record.machine.isHeld(for: .schedule) else { continue }
            record.clocks.appoint(.schedule, at: self.now + delay)
            self.rearm(record)
        }
    }

    /// The attempt of the task that went first is over: without a connection the others go on waiting, for longer each
    /// time, and another one goes first.
    func canaryEnded(_ end: AttemptEnd, at desk: TargetState) {
        guard end.failure != nil, !end.reachedWire, !desk.followers.isEmpty else {
            return self.spreadFollowers(of: desk)
        }
        desk.canary = nil
        desk.isBetweenCanaries = true
        desk.canariesFailed += 1
        let bound = Duration.milliseconds(250) * (1 << min(5, desk.canariesFailed - 1))
        let delay = self.surroundings.dice.roll { Backoff.random(upTo: min(.seconds(8), bound), using: &$0) }
        self.cancelAlarm(.canary, at: desk)
        self.schedule(.canary, at: desk, after: max(.milliseconds(50), delay))
    }

    func sendNextCanary(of desk: TargetState) {
        desk.isBetweenCanaries = false
        while let number = desk.followers.first {
            desk.followers.removeFirst()
            guard let record = self.records[number], record.machine.isHeld(for: .schedule),
                !record.machine.isSuspended
            else {
                self.records[number].map { self.feed(.release(.schedule), to: $0) }
                continue
            }
            desk.canary = number
            self.schedule(.canary, at: desk, after: .seconds(1))
            return self.feed(.release(.schedule), to: record)
        }
        self.spreadFollowers(of: desk)
    }
}

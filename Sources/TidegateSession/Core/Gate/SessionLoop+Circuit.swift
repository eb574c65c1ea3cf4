internal import TidegateCore
internal import TidegateTransfer

/// Origins that fail are left alone for a while, and then asked by one task first.
extension SessionLoop {
    /// True where the task has to wait because its origin failed too often.
    func stopsAtCircuit(_ record: TaskRecord) -> Bool {
        let origin = record.hop.url.origin
        guard !self.circuits.isEmpty, var circuit = self.circuits[origin] else { return false }
        let pass = circuit.pass(record.number, at: self.now)
        switch pass {
        case .through, .asProbe: break
        case .wait, .waitForProbe: circuit.waiting.append(record.number)
        }
        self.circuits[origin] = circuit
        switch pass {
        case .through: return false
        case .asProbe:
            record.probes = origin
            return false
        case .wait(let until): if circuit.waiting.count == 1 { record.clocks.appoint(.circuit, at: until) }
        case .waitForProbe: break
        }
        record.waitsAtCircuit = origin
        self.feed(.hold(.circuit, detail: "the server failed too often"), to: record)
        return true
    }

    /// The time is over for which an origin is left alone: this task goes first.
    func circuitDue(_ record: TaskRecord) {
        guard let origin = record.waitsAtCircuit else { return }
        self.leaveCircuit(record)
        self.feed(.release(.circuit), to: record)
        // Suspended, or held by something else as well: then it is the next one's turn.
        if record.probes == nil { self.nextAtCircuit(of: origin) }
    }

    private func nextAtCircuit(of origin: Origin) {
        guard let circuit = self.circuits[origin], let next = circuit.waiting.first, let record = self.records[next]
        else { return }
        var trial = circuit
        switch trial.pass(next, at: self.now) {
        case .through, .asProbe: record.clocks.appoint(.circuit, at: self.now)
        case .wait(let until): record.clocks.appoint(.circuit, at: until)
        case .waitForProbe: return
        }
        self.rearm(record)
    }

    /// The task does not wait for its origin any more.
    func leaveCircuit(_ record: TaskRecord) {
        guard let origin = record.waitsAtCircuit else { return }
        record.waitsAtCircuit = nil
        let hadAlarm = record.clocks.hasAppointment(.circuit)
        record.clocks.appoint(.circuit, at: nil)
        self.circuits[origin]?.waiting.removeAll { $0 == record.number }
        if hadAlarm, record.machine.isOver { self.nextAtCircuit(of: origin) }
    }

    /// The task that goes first does not any more, and nothing has come of it.
    func leaveProbe(_ record: TaskRecord) {
        guard let origin = record.probes else { return }
        record.probes = nil
        guard self.circuits[origin]?.probeLeft(record.number, at: self.now) == true else { return }
        self.nextAtCircuit(of: origin)
    }

    // MARK: - What attempts say of their origin

    /// An attempt has brought an answer, or failed: what that says of its origin.
    func judgeOrigin(by end: AttemptEnd, _ record: TaskRecord) {
        guard self.configuration.circuit.isEnabled else { return }
        switch self.verdict(on: end, record) {
        case .works: if !self.circuits.isEmpty { self.originWorks(record) }
        case .fails: self.originFails(record)
        case .unknown: self.leaveProbe(record)
        }
    }

    private enum OriginVerdict { case works, fails, unknown }

    // What a lost path, a name or a half of our own did says nothing about the origin.
    private func verdict(on end: AttemptEnd, _ record: TaskRecord) -> OriginVerdict {
        if let status = end.outcome.head?.status, end.failure == nil || end.kind == .status {
            return status >= 500 ? .fails : .works
        }
        switch end.kind {
        case .connect, .timeout, .tlsCutOff: return self.pathIsLost(record, end.live) ? .unknown : .fails
        case .transport: return record.probes == nil || self.pathIsLost(record, end.live) ? .unknown : .fails
        case .link, .dns, .tls, .status, .client, .local: return .unknown
        }
    }

    private func originWorks(_ record: TaskRecord) {
        let origin = record.hop.url.origin
        record.probes = nil
        guard var circuit = self.circuits[origin] else { return }
        let wasOpen = circuit.succeeded()
        let waiting = circuit.waiting
        circuit.waiting = []
        self.circuits[origin] = circuit.isFresh ? nil : circuit
        guard wasOpen else { return }
        self.surroundings.bus.publish(.session(.circuitClosed(origin: origin.description)))
        self.letGoFromCircuit(waiting)
    }

    private func letGoFromCircuit(_ waiting: [UInt64]) {
        let window = Duration.seconds(min(30, max(0.25, Double(waiting.count) / 200)))
        let draws = self.surroundings.dice.roll { dice in
            waiting.map { _ in Backoff.random(upTo: window, using: &dice) }
        }
        for (number, delay) in zip(waiting, draws.sorted()) {
            guard let record = self.records[number] else { continue }
            record.waitsAtCircuit = nil
            record.clocks.appoint(.circuit, at: nil)
            self.feed(.hold(.schedule, detail: "spread after failures of the server"), to: record)
            record.clocks.appoint(.schedule, at: self.now + delay)
            self.feed(.release(.circuit), to: record)
        }
    }

    private func originFails(_ record: TaskRecord) {
        let origin = record.hop.url.origin
        record.probes = nil
        var circuit = self.circuits[origin] ?? Circuit()
        let spread = self.surroundings.dice.roll { Double.random(in: 0...1, using: &$0) }
        let pause = circuit.failed(record.number, self.configuration.circuit, at: self.now, spread: spread)
        self.circuits.forget { $0.isFresh }
        self.circuits[origin] = circuit
        guard let pause else { return }
        self.surroundings.bus.publish(.session(.circuitOpened(origin: origin.description, pause: pause)))
        self.nextAtCircuit(of: origin)
    }
}

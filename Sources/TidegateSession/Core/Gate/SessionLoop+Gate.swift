internal import TidegateCore
internal import TidegateTransfer

/// The gate: one watch per target, however many tasks stand before it.
extension SessionLoop {
    /// A task is ready: asks the gate, then the queue, and lets it go or holds it.
    func seek(_ record: TaskRecord) {
        guard self.prepare(record) else { return }
        let desk = self.sitDown(record)
        if let resting = self.restingUntil[record.hop.url.origin] {
            if resting > self.now {
                record.clocks.appoint(.backoff, at: resting)
                return self.feed(.hold(.backoff, detail: "the server asked to be left alone"), to: record)
            }
            self.restingUntil[record.hop.url.origin] = nil
        }
        if self.stopsAtCircuit(record) { return }
        guard record.gate.isOpen || desk.known != nil else {
            record.standsInLine = true
            desk.unanswered.append(record.number)
            return
        }
        switch self.judge(record, desk) {
        case .open: self.passGate(record)
        case .shut(let shut): self.stopAtGate(record, desk, shut)
        }
    }

    func stopSeeking(_ record: TaskRecord) {
        if record.probes != nil, !record.machine.isHeld(for: .concurrency) { self.leaveProbe(record) }
        if record.standsInLine { record.desk?.unanswered.removeAll { $0 == record.number } }
        self.giveSlotBack(record)
    }

    func judge(_ record: TaskRecord, _ desk: TargetState) -> GateEvaluator.Answer {
        if record.gate.isOpen || (record.gate.asksForRouteOnly && desk.hasRoute) { return .open }
        guard let verdict = desk.verdict else { return .open }
        let paths = self.surroundings.paths
        return GateEvaluator.judge(
            record.gate.require, target: verdict, hint: desk.lastInterface,
            isInterface: { paths.isInterface($0, of: $1) }, family: { paths.family($0) })
    }

    private func stopAtGate(_ record: TaskRecord, _ desk: TargetState, _ shut: GateEvaluator.Shut) {
        self.wait(record, at: desk, for: shut)
        self.feed(.hold(shut.reason, detail: shut.words), to: record)
    }

    func wait(_ record: TaskRecord, at desk: TargetState, for shut: GateEvaluator.Shut) {
        record.shut = shut
        if record.gateWaitBegan == nil { record.gateWaitBegan = self.now }
        record.standsInLine = true
        if !desk.waiting.contains(record.number) { desk.waiting.append(record.number) }
        if shut.requirement == .online { self.schedule(.lookAgain, at: desk, after: .seconds(1)) }
    }

    private func passGate(_ record: TaskRecord) {
        self.leaveGate(record, record.gateWaitBegan == nil ? .immediate : .delayed)
        let origin = record.hop.url.origin
        if record.hasSlot || self.queue.enter(record.number, origin, priority: record.request.priority) {
            record.hasSlot = true
            self.feed(.admit, to: record)
        } else {
            self.feed(.hold(.concurrency, detail: nil), to: record)
        }
    }

    /// Tells how the task left its gate, once for every attempt.
    func leaveGate(_ record: TaskRecord, _ result: TaskEvent.GateResult) {
        let began = record.gateWaitBegan
        record.gateWaitBegan = nil
        if began != nil { record.desk?.waiting.removeAll { $0 == record.number } }
        switch result {
        case .immediate, .delayed: if record.gateWasTold { return }
        case .timeout, .cancelled: if began == nil { return }
        }
        record.gateWasTold = true
        self.publish(.gate(result, waited: began.map { self.now - $0 } ?? .zero), record)
    }

    // MARK: - Desks

    /// The desk of the task's current hop; behind a proxy the proxy is the target.
    private func sitDown(_ record: TaskRecord) -> TargetState {
        let target = self.target(of: record)
        if let desk = record.desk {
            if desk.target == target { return desk }
            self.standUp(record)
        }
        let desk = self.desk(for: target)
        desk.members.insert(record.number)
        self.cancelAlarm(.leave, at: desk)
        record.desk = desk
        return desk
    }

    private func target(of record: TaskRecord) -> Target { self.proxy?.target ?? record.hop.url.target }

    // Most tasks sit down where the one before did.
    private func desk(for target: Target) -> TargetState {
        if let desk = self.latestDesk, desk.target == target { return desk }
        let desk = self.desks[target] ?? self.openDesk(for: target)
        self.latestDesk = desk
        return desk
    }

    private func openDesk(for target: Target) -> TargetState {
        self.lastDesk += 1
        let number = self.lastDesk
        let desk = TargetState(number: number, target: target)
        self.desks[target] = desk
        self.desksByNumber[number] = desk
        let known = self.surroundings.paths.current(target)
        if known.verdict.level != .unknown { self.remember(known, at: desk) }
        let line = self.surroundings.line
        desk.watch = self.surroundings.paths.watch(target) { line.send(.verdict(desk: number, $0)) }
        // A source that stays silent must not keep anybody: gates delay, they never forbid.
        self.schedule(.firstVerdict, at: desk, after: .seconds(1))
        return desk
    }

    /// The task needs its desk no more; an empty desk is kept for a while, because the next task may come at once.
    func standUp(_ record: TaskRecord) {
        guard let desk = record.desk else { return }
        desk.members.remove(record.number)
        if record.standsInLine {
            desk.unanswered.removeAll { $0 == record.number }
            desk.waiting.removeAll { $0 == record.number }
            desk.resolving.removeAll { $0 == record.number }
            record.standsInLine = false
        }
        record.desk = nil
        if desk.members.isEmpty { self.schedule(.leave, at: desk, after: .seconds(60)) }
    }

    private func closeDesk(_ desk: TargetState) {
        guard desk.members.isEmpty else { return }
        desk.watch?.cancel()
        for alarm in TargetState.Alarm.allCases { self.cancelAlarm(alarm, at: desk) }
        self.desks[desk.target] = nil
        if self.latestDesk === desk { self.latestDesk = nil }
        self.desksByNumber[desk.number] = nil
    }

    private func remember(_ verdict: TargetVerdict, at desk: TargetState) {
        desk.learn(verdict)
        if let path = verdict.verdict.path, verdict.verdict.level >= .routed { desk.lastInterface = path.interface }
    }

    // MARK: - Verdicts

    func verdictArrived(_ verdict: TargetVerdict, at desk: TargetState) {
        self.remember(verdict, at: desk)
        self.cancelAlarm(.firstVerdict, at: desk)
        self.pathMayHaveChanged(at: desk)
        self.answerWaiting(at: desk)
    }

    private func answerWaiting(at desk: TargetState) {
        let unanswered = desk.unanswered
        desk.unanswered = []
        for number in unanswered {
            guard let record = self.records[number], record.machine.phase == .seeking else { continue }
            self.seek(record)
            if record.depth == 0 { self.settle(record) }
        }
        var opened: [TaskRecord] = []
        for number in desk.waiting {
            guard let record = self.records[number] else { continue }
            switch self.judge(record, desk) {
            case .open: opened.append(record)
            case .shut(let shut): self.changeHold(record, to: shut)
            }
        }
        self.letGo(opened, from: desk)
        if desk.waiting.contains(where: { self.records[$0]?.shut?.requirement == .online }) {
            self.schedule(.lookAgain, at: desk, after: .seconds(1))
        }
    }

    // The gate stays shut, but for another kind of reason.
    private func changeHold(_ record: TaskRecord, to shut: GateEvaluator.Shut) {
        guard let old = record.shut, old.reason != shut.reason else { return record.shut = shut }
        record.shut = shut
        self.feed(.hold(shut.reason, detail: shut.words), to: record)
        self.feed(.release(old.reason), to: record)
    }

    // MARK: - Alarms

    func schedule(_ alarm: TargetState.Alarm, at desk: TargetState, after delay: Duration) {
        guard desk.alarms[alarm] == nil else { return }
        desk.alarms[alarm] = self.engine.schedule(
            after: delay, token: SessionTimer.desk(desk.number, alarm).token)
    }

    func cancelAlarm(_ alarm: TargetState.Alarm, at desk: TargetState) {
        if let timer = desk.alarms.removeValue(forKey: alarm) { self.engine.cancel(timer) }
    }

    func alarmRang(_ alarm: TargetState.Alarm, at desk: TargetState) {
        switch alarm {
        case .firstVerdict:
            if desk.known == nil { desk.learn(TargetVerdict(target: desk.target, verdict: .unknown)) }
            self.answerWaiting(at: desk)
        case .canary:
            if desk.isBetweenCanaries { self.sendNextCanary(of: desk) } else { self.spreadFollowers(of: desk) }
        case .lookAgain: self.answerWaiting(at: desk)
        case .leave: self.closeDesk(desk)
        }
    }
}

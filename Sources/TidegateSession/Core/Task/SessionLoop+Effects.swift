internal import TidegateCore
internal import TidegateTransfer

/// Carries out what the tasks' machines decide.
extension SessionLoop {
    func feed(_ input: TaskMachine.Input, to record: TaskRecord) {
        record.depth += 1
        // Changed outside and put back: a property that others are called under is checked at every access.
        var machine = record.machine
        let effects = machine.handle(input, at: self.now)
        record.machine = machine
        for effect in effects { self.carryOut(effect, record) }
        record.depth -= 1
        if record.depth == 0 { self.settle(record) }
    }

    private func carryOut(_ effect: TaskMachine.Effect, _ record: TaskRecord) {
        switch effect {
        case .tell(let note): self.tell(note, record)
        case .seek: self.seek(record)
        case .stopSeeking: self.stopSeeking(record)
        case .start: self.startAttempt(record)
        case .pause: self.pause(record)
        case .unpause: self.unpause(record)
        case .detach(let cause): self.detach(record, cause)
        case .commit: self.commit(record)
        // The disk's answer will find the task over.
        case .abandonCommit: break
        case .end: self.end(record)
        }
    }

    private func tell(_ note: TaskMachine.Note, _ record: TaskRecord) {
        switch note {
        case .resumed: self.publish(.resumed, record)
        case .suspended(let reason): self.publish(.suspended(reason), record)
        case .held(let reason, let detail): self.publish(.held(reason, detail: detail), record)
        case .released(let reason, let after): self.publish(.released(reason, after: after), record)
        case .attemptStarted(let number): self.publish(.attemptStarted(number: number), record)
        }
    }

    func publish(_ change: consuming TaskEvent.Kind, _ record: TaskRecord) { self.publish(change, of: record.task) }

    func publish(_ change: consuming TaskEvent.Kind, of task: TransferTask) {
        let event = TaskEvent(id: task.id, taskKind: task.request.kind, kind: change)
        let tap = self.surroundings.line.tap
        if tap.isOpen { tap.publish(event) }
        self.surroundings.bus.publish(.task(event))
    }

    /// Lets the clocks follow what happened, and writes down what everybody may see.
    func settle(_ record: TaskRecord) {
        guard !record.machine.isOver else { return }
        record.clocks.follow(record.situation, at: self.now)
        self.rearm(record)
        let (state, progress) = (record.machine.state, record.progress)
        let (held, lastByte) = (record.machine.heldReasons, record.attempt?.progress.lastActivity)
        let head = record.attempt?.head
        let url = record.hop.url === record.firstHop.url ? nil : record.hop.url.text
        record.task.board.update { board in
            board.face.state = state
            board.face.progress = progress
            board.face.started = record.tally.started
            board.held = held
            board.lastByte = lastByte
            if let head {
                board.head = head
                board.finalURL = url
            }
        }
    }

    // MARK: - Suspension

    private func pause(_ record: TaskRecord) {
        guard let attempt = record.attempt, attempt.isLaunched, self.engine.pause(attempt.id) else {
            return self.giveBack(record)
        }
        record.clocks.appoint(.pause, at: self.now + self.configuration.pauseLimit)
    }

    private func unpause(_ record: TaskRecord) {
        record.clocks.appoint(.pause, at: nil)
        if let attempt = record.attempt { self.engine.unpause(attempt.id) }
    }

    /// True where the attempt may be ended and another one made: neither its request nor its body comes twice.
    func mayLeave(_ record: TaskRecord) -> Bool { self.mayRepeat(record) && !self.isDeliveredForGood(record) }

    /// True where the attempt's request may be sent once more, and can be.
    func mayRepeat(_ record: TaskRecord) -> Bool { record.mayRepeat && self.canSendBody(record) }

    /// True where a part of the body has gone where it cannot be taken back from, and cannot be continued.
    func isDeliveredForGood(_ record: TaskRecord) -> Bool {
        guard record.isStream, record.hold.validator == nil, let live = record.attempt else { return false }
        let progress = self.engine.progress(of: live.id) ?? live.progress
        return record.hold.offset > 0 || progress.received > 0
    }

    /// Gives the connection of a suspended task back, where its request may be sent again.
    func giveBack(_ record: TaskRecord) {
        guard self.mayLeave(record) else { return }
        self.feed(.giveBack, to: record)
    }

    // MARK: - Taking an attempt off the wire

    private func detach(_ record: TaskRecord, _ cause: TaskMachine.DetachCause) {
        guard record.attempt != nil else { return }
        self.leaveProbe(record)
        let (failure, text): (TaskFailure, String) =
            switch cause {
            case .suspended: (.cancelled, "the task was suspended")
            case .pathLost: (.stalled, "the path was lost")
            case .ended: (record.tally.failure ?? .cancelled, record.tally.explanation ?? "the task ended")
            }
        let end = self.takeOff(record, failure, text)
        let isCharged = cause == .ended && failure != .cancelled
        if isCharged { record.counter.charge(madeProgress: false) }
        self.publishFailure(record, end, failure, isCharged: isCharged)
        self.backToTheStart(record)
    }

    /// Ends the attempt on the wire and counts what it brought.
    func takeOff(_ record: TaskRecord, _ failure: TaskFailure, _ text: String) -> AttemptEnd {
        guard let live = record.attempt else {
            let nothing = LiveAttempt(id: AttemptID(rawValue: 0), number: 0, started: self.now, knowing: nil)
            return AttemptEnd(nothing, failure, text, at: self.now)
        }
        var end = AttemptEnd(live, failure, text, at: self.now)
        if live.isLaunched {
            live.progress = self.engine.progress(of: live.id) ?? live.progress
            end.outcome.progress = live.progress
            end.outcome.failedConnect = self.engine.failedConnect(of: live.id)
            end.outcome.isConnected = self.engine.isConnected(live.id)
            self.engine.detach(live.id)
        }
        self.account(end, record)
        return end
    }

    // A redirect is asked for anew: its end may lie elsewhere by now.
    //
    // But where the first hop has answered, it has done what it was asked for: that is not asked twice.
    func backToTheStart(_ record: TaskRecord) {
        guard record.request.isIdempotent || record.redirects == 0 else { return }
        record.redirects = 0
        record.hop = record.firstHop
    }
}

internal import TidegateCore
internal import TidegateTransfer

/// What follows from the answers of hooks.
struct HookAnswers {
    let engine: TransferEngine
    let driver: TaskDriver
    let delegate: DelegateDispatcher
    let questions: HookQuestions
    let runner: AttemptRunner
    let reports: AttemptReports
    let completion: AttemptCompletion
    let commands: TaskCommands
    let bodies: TaskBodies
    let failures: FailureReporter
    let finisher: TaskFinisher

    /// What hooks, observers and handlers on other threads report.
    func delegate(_ event: DelegateDispatcher.Event, _ record: TaskRecord) {
        switch event {
        case .answered(let question, let answer): self.answered(answer, question, record)
        case .bodyArrived: self.reports.flushData(record)
        case .handlerReturned: self.finisher.handlerReturned(record)
        }
    }

    private func answered(_ answer: HookAnswer, _ number: Int, _ record: TaskRecord) {
        guard !record.machine.isOver, let state = record.delegate,
            let question = self.delegate.takeQuestion(number, of: state)
        else { return }
        switch (question, answer) {
        case (.redirect(let response, let hop), .redirect(let decision)):
            self.questions.redirectDecided(decision, record, response, hop)
        case (.authentication(let challenge, let status), .authentication(let answer)):
            if self.questions.authenticated(answer, record, challenge, status: status) {
                self.commands.cancel(record)
            }
        case (.serverTrust(let trust), .serverTrust(let verdict)):
            record.attempt.trust.verdicts[trust] = verdict
            self.driver.feed(.decided, to: record)
        case (.disposition(let attempt, let end), .disposition(let decision)):
            if let live = record.live, live.id == attempt { self.decided(decision, record, live, end) }
        case (.headers(let attempt, let addresses), .headers(let headers)):
            if let live = record.live, live.id == attempt {
                self.runner.launch(record, live, with: headers, on: addresses)
            }
        case (.newBody(let attempt, let addresses), .newBody(let stream)):
            if let live = record.live, live.id == attempt {
                self.runner.launch(record, live, with: stream, on: addresses)
            }
        case (.redirect, _), (.authentication, _), (.serverTrust, _), (.disposition, _), (.headers, _), (.newBody, _):
            break
        }
        self.driver.touch(record)
    }

    // What becomes of a response whose head is here.
    private func decided(
        _ decision: ResponseDisposition, _ record: TaskRecord, _ live: LiveAttempt, _ end: AttemptOutcome?
    ) {
        live.hook = .none
        record.clocks.bytesMoved(at: self.driver.now)
        do throws(FileError) {
            var sink: BodySink?
            switch decision {
            case .continue: break
            case .cancel: return self.commands.cancel(record)
            case .download(let path, let permissions):
                record.ownDelegate.isDispositionKnown = true
                guard let file = try self.become(record, .file(path, permissions: permissions)) else { return }
                sink = file
            }
            if let end {
                self.completion.attempt(record, reported: .finished(end))
            } else {
                self.engine.proceed(live.id, into: sink)
            }
        } catch {
            self.failures.fail(record, error.failure, FailureSentence(error.description))
        }
    }

    // Makes a download of a task; nil if the task has failed.
    private func become(_ record: TaskRecord, _ destination: Destination) throws(FileError) -> BodySink? {
        switch record.request.destination {
        case .memory, .discard: break
        case .file, .descriptor, .stream:
            self.failures.fail(
                record, .invalidRequest, "a body that goes elsewhere already cannot become a download")
            return nil
        }
        record.ownDelegate.destination = destination
        if let obstacle = record.paths?.obstacle() {
            self.failures.fail(record, .fileError, FailureSentence(obstacle))
            return nil
        }
        return try self.bodies.fileSink(of: record)
    }
}

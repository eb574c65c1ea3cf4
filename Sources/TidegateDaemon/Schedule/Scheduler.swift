internal import HTTPTypes
internal import Logging
internal import Tidegate

/// Runs scheduled tasks: the shell around ``ScheduleMachine``.
actor Scheduler {
    /// Performs one run of a task; returns when the run has ended, soon after its Swift task is cancelled.
    typealias Run = @Sendable (ScheduledTask) async -> Void

    private let time: any TimeSource
    private let run: Run
    private let onSkip: @Sendable (String) -> Void
    private var generator = SystemRandomNumberGenerator()
    private var machine = ScheduleMachine()
    private var runs: [String: Task<Void, Never>] = [:]
    private var timer: Task<Void, Never>?
    private var isStopped = false

    /// A scheduler without tasks; calls `onSkip` with the name of a task whose run is skipped.
    init(time: any TimeSource, onSkip: @escaping @Sendable (String) -> Void, run: @escaping Run) {
        self.time = time
        self.onSkip = onSkip
        self.run = run
    }

    /// Replaces the tasks.
    ///
    /// Cancels the active runs of removed tasks; other runs continue unchanged.
    func load(_ tasks: [ScheduledTask]) {
        guard !self.isStopped else { return }
        self.perform(self.machine.load(tasks, at: self.time.monotonic()))
        self.tick()
    }

    /// When the next run of each task starts, by name.
    var nextRuns: [String: WallTime] {
        let (now, wall) = (self.time.monotonic(), self.time.wall())
        return self.machine.dueTimes.mapValues { wall + max(.zero, $0 - now) }
    }

    /// Cancels all runs and waits until they have ended.
    func stop() async {
        self.isStopped = true
        self.timer?.cancel()
        let runs = self.runs.values
        for run in runs { run.cancel() }
        for run in runs { await run.value }
    }

    private func tick() {
        guard !self.isStopped else { return }
        self.perform(self.machine.tick(at: self.time.monotonic(), using: &self.generator))
        self.armTimer()
    }

    private func perform(_ effects: [ScheduleMachine.Effect]) {
        for effect in effects {
            switch effect {
            case .run(let task): self.start(task)
            case .skip(let name): self.onSkip(name)
            case .cancel(let name): self.runs[name]?.cancel()
            }
        }
    }

    private func start(_ task: ScheduledTask) {
        let run = self.run
        self.runs[task.name] = Task { [weak self] in
            await run(task)
            await self?.ended(task.name)
        }
    }

    private func ended(_ name: String) {
        self.runs[name] = nil
        self.machine.ended(name)
    }

    private func armTimer() {
        self.timer?.cancel()
        guard let due = self.machine.nextDue else { return }
        let wait = max(.zero, due - self.time.monotonic())
        self.timer = Task { [weak self] in
            // Cancelled if another timer has replaced this one.
            guard (try? await Task.sleep(for: wait, clock: .continuous)) != nil else { return }
            await self?.tick()
        }
    }
}

extension ScheduledTask {
    /// The request of one run.
    ///
    /// The headers file is read now, so that rotated secrets are sent.
    /// - Throws: ``TextError`` that names the invalid file or value.
    func request(under transfers: Configuration.Transfers) throws(TextError) -> TaskRequest {
        var submission = self.submission
        submission.method = submission.method ?? (submission.bodyFile == nil && self.form.isEmpty ? "GET" : "POST")
        submission.headers = (submission.headers ?? []) + (try self.linesOfHeadersFile())
        if !self.form.isEmpty {
            do { try submission.send(self.multipartForm) } catch { throw TextError("\"form\": \(error)") }
        }
        var request = try submission.request()
        // The next run resumes the download of an interrupted one.
        if case .file(let path, let permissions, _) = request.destination {
            request.destination = .file(path, permissions: permissions, continues: true)
        }
        request.options.attemptTimeout = self.timeout?.duration
        let retry = self.retryPolicy(under: transfers)
        var gate = transfers.session.gate
        gate.require = request.options.gate?.require ?? gate.require
        try Result { () throws(ConfigurationValueError) in
            try retry.validate()
            try gate.validate()
        }.mapError { TextError($0.description) }.get()
        request.options.retry = retry
        request.options.gate = gate
        return request
    }

    private var multipartForm: MultipartForm {
        self.form.reduce(into: MultipartForm()) { form, part in
            let isFile = part.value.hasPrefix("@/")
            form.append(
                isFile ? .file(String(part.value.dropFirst())) : .data(Array(part.value.utf8)), name: part.name)
        }
    }

    private func linesOfHeadersFile() throws(TextError) -> [String] {
        guard let file = self.headersFile else { return [] }
        let text = try Result { try TextFile.read(file, atMost: 1 << 16) }
            .mapError { TextError("\(file): \($0)") }.get()
        var lines: [String] = []
        for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            if line.allSatisfy(\.isWhitespace) || line.first == "#" { continue }
            // Its text may be a secret.
            guard (try? HTTPField(line: String(line))) != nil else {
                throw TextError("\(file):\(index + 1): expected 'Name: value'")
            }
            lines.append(String(line))
        }
        return lines
    }

    // The task's timeout also limits all its attempts together. Time without a path does not count: such a run is held,
    // and the next one is skipped.
    private func retryPolicy(under transfers: Configuration.Transfers) -> RetryPolicy {
        var retry = self.retry.merged(withDefaults: transfers.retry)
        if let timeout = self.timeout?.duration {
            retry.maxElapsed = DurationText(min(timeout, retry.maxElapsed.map { $0.duration ?? timeout } ?? timeout))
        }
        return retry.policy()
    }

    /// Performs one run until its end; a cancelled download keeps its partial file, which a later run resumes.
    func run(in session: Session, under policies: TransferPolicies, _ logger: Logger) async {
        let request: TaskRequest
        do {
            request = try self.request(under: policies.transfers)
        } catch {
            logger.error(
                "scheduled run could not start", metadata: ["name": "\(self.name)", "error": "\(error)"])
            return
        }
        let handle = session.makeTask(request)
        handle.resume()
        await withTaskCancellationHandler {
            _ = await handle.result()
        } onCancel: {
            handle.cancel()
        }
    }
}

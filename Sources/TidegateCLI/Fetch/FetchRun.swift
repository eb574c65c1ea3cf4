internal import Glibc
internal import Synchronization
internal import Tidegate
internal import TidegateDaemon

/// Runs the transfers of a command, displays their progress, and cancels them on a signal.
struct FetchRun: Sendable {
    let plan: FetchPlan
    let options: FetchCommand
    let terminal: Terminal

    func run() async throws {
        var source = try FetchSource(self.options, self.plan)
        try await self.readFirst(of: &source)
        let archive = try self.options.har.map { path throws(CommandError) in
            try ArchiveFile(path, showingSecrets: self.options.showSecrets)
        }
        // A body without a named output is checked before it is written to a terminal.
        let isGuarded = self.plan.output == .standardOutput(isNamed: false) && self.terminal.isOutputTerminal
        let body = isGuarded ? source.streamBody() : nil
        // Read before the session exists, which would publish them before anything subscribes.
        let problems = self.plan.session.validators?.takeProblems() ?? []
        let monitor = try self.monitor()
        let (ends, continuation) = AsyncStream.makeStream(of: FetchFeed.Ended.self)
        let viewOptions = self.viewOptions
        let feed = FetchFeed(
            monitor.session, limit: self.options.network.parallel + Self.reserve, ends: continuation
        ) { viewOptions.shows($0) || archive != nil }
        let view = FetchProgressView(feed, monitor.session, viewOptions)
        for problem in problems {
            await view.report(SessionEvent.storedResponseDropped(file: problem.file, problem: problem.problem).sentence)
        }
        let signal = CapturedSignal()
        let interrupts = await Signals.interrupts()
        let (hasKept, bodyEnd) = await withTaskGroup(of: Void.self) { group in
            group.addTask { await view.follow(monitor.bus) }
            group.addTask { await self.stop(on: interrupts, signal, feed, monitor.session) }
            group.addTask { await self.diagnoseSilence(feed, monitor) }
            group.addTask { if self.watchesConnections { await view.watchConnections(of: monitor) } }
            async let hasKept = self.report(ends, view, feed, signal, archive)
            async let bodyEnd = self.copy(body)
            await source.fill(feed) { await view.report($0) }
            await feed.finish()
            let result = await (hasKept, bodyEnd)
            group.cancelAll()
            return result
        }
        await monitor.stop()
        let archiveError = archive?.finish()
        let fileError = self.writeCookies()?.after(archiveError, self.terminal) ?? archiveError
        if let number = signal.number { throw self.interrupted(number, hasKept: hasKept, fileError) }
        switch bodyEnd {
        case .written: break
        case .binary: throw CommandError(.no, TerminalBody.message)
        case .failed(let error): error.exitProgram()
        }
        if let error = feed.tally.error { throw error.after(fileError, self.terminal) }
        if let fileError { throw fileError }
        if let error = await view.outputError { error.exitProgram() }
    }

    private func readFirst(of source: inout FetchSource) async throws {
        try await source.readFirst()
        source.adoptFiles()
        for file in self.options.continues || self.options.verbose ? source.filesInPlace : [] {
            self.terminal.printError("\(file) cannot be replaced: it is written in place, and never continued")
        }
    }

    // A transfer with a limited rate reads slowly by choice.
    private var watchesConnections: Bool { self.options.verbose && self.options.network.limitRate == nil }

    // Why the cookie file could not be written; nil if it was written or none was named.
    private func writeCookies() -> CommandError? {
        guard let file = self.options.http.cookieJar, let jar = self.plan.session.cookies else { return nil }
        return Result { () throws(TextError) in try CookieFile.write(jar, to: file) }.failure.map(CommandError.init)
    }

    // Extra places beyond the connections, so that transfers waiting for a retry do not hold up others.
    private static let reserve = 64

    private func monitor() throws -> Monitor {
        var configuration = MonitorConfiguration()
        configuration.reachability.internetCheck = self.plan.internetCheck
        configuration.session = self.plan.session
        return try Result { [configuration] in try Monitor(configuration) }
            .mapError { CommandError(.usage, "cannot start transfers: \($0)") }.get()
    }

    // Finds out in the background which party is silent, so that a failure can be attributed.
    private func diagnoseSilence(_ feed: FetchFeed, _ monitor: Monitor) async {
        var watch = SilenceWatch()
        let time = SystemClock()
        while (try? await Task.sleep(for: SilenceWatch.interval)) != nil {
            // Not awaited: the transfers may end sooner.
            if watch.shouldDiagnose(feed.transfers.map(\.task.info), at: time.monotonic()) {
                Task { await monitor.diagnoseHost() }
            }
        }
    }

    private func stop(
        on interrupts: AsyncStream<Int32>, _ signal: CapturedSignal, _ feed: FetchFeed, _ session: Session
    ) async {
        for await number in interrupts {
            // A second signal exits without waiting for the transfers to end.
            if signal.number != nil { exit(ExitStatus.signal(number).number) }
            signal.set(number)
            // A part is continued only under a name that is known before the response.
            let keepsParts = !self.options.destination.remoteHeaderName
            for task in feed.stop() { keepsParts ? task.cancelKeepingPart() : task.cancel() }
            // In its own task, so that a second signal can be handled. Returns even if a disk hangs.
            Task { await session.invalidate(cancellingTasks: true) }
        }
    }

    /// Displays the results of transfers; true if a partial file was kept that another run can continue.
    private func report(
        _ ends: AsyncStream<FetchFeed.Ended>, _ view: FetchProgressView, _ feed: FetchFeed, _ signal: CapturedSignal,
        _ archive: ArchiveFile?
    ) async -> Bool {
        var hasKept = false
        for await end in ends {
            // The reader of the body has read enough, as head(1) does.
            if self.plan.writesBody, end.result.failure == .fileError, OutputError.hasLostReader {
                OutputError(code: EPIPE).exitProgram()
            }
            var kept: Int64?
            if end.result.outcome == .cancelled {
                // The size of the kept file is known once the task has finished.
                _ = await end.task.result()
                kept = end.task.resumeData?.point.offset
            }
            hasKept = hasKept || kept != nil
            archive?.add(end.task)
            // Without a signal, the command itself cancelled the rest.
            if end.result.outcome != .cancelled || signal.number != nil {
                await view.didFinish(end, kept: kept)
            }
            feed.reported()
        }
        return hasKept
    }

    private func copy(_ body: BodyStream?) async -> TerminalBody.End {
        guard let body else { return .written }
        return await TerminalBody.copy(body) { self.terminal.write($0) }
    }

    private func interrupted(_ signal: Int32, hasKept: Bool, _ fileError: CommandError?) -> CommandError {
        guard hasKept else { return CommandError(.signal(signal)).after(fileError, self.terminal) }
        let command = FetchContinuation.command(Array(CommandLine.arguments.dropFirst()))
        return CommandError(
            .signal(signal), "continue with: \(command ?? "the same command and --continue")"
        ).after(fileError, self.terminal)
    }

    private var viewOptions: FetchProgressView.Options {
        var options = FetchProgressView.Options(terminal: self.terminal)
        options.writesObjects = self.options.writeOut == .json
        options.writesBody = self.plan.writesBody
        if self.options.verbose { options.exchanges = ExchangeText(showsSecrets: self.options.showSecrets) }
        options.progress = self.options.quiet ? .none : self.options.progress
        if options.progress == .auto {
            // Progress would be interleaved with a body on the same terminal.
            let isMixed = self.plan.writesBody && self.terminal.isOutputTerminal
            options.progress = isMixed ? .none : self.terminal.isErrorTerminal ? .bar : .plain
        }
        return options
    }
}

extension CommandError {
    /// Returns this error, after printing the message of an earlier one.
    fileprivate func after(_ earlier: CommandError?, _ terminal: Terminal) -> CommandError {
        if let message = earlier?.message { terminal.printError("tidegate: \(message)") }
        return self
    }
}

/// The first signal that asked the command to end.
final class CapturedSignal: Sendable {
    private let first = Mutex<Int32?>(nil)

    func set(_ number: Int32) { self.first.withLock { $0 = $0 ?? number } }

    var number: Int32? { self.first.withLock { $0 } }
}

/// Detects transfers that have been silent for so long that the host should be diagnosed.
struct SilenceWatch {
    private struct Silence {
        var progress: TransferProgress
        var since: MonotonicTime
        var reportedAt: MonotonicTime?
    }

    /// How often to check.
    static let interval = Duration.milliseconds(250)
    /// How long a transfer has to be idle: connecting and receiving the first byte rarely take longer.
    static let threshold = Duration.seconds(1)
    // The minimum time between two reports, of the same transfer and of any two.
    private static let minimumIntervals = (same: Duration.seconds(15), any: Duration.seconds(5))

    private var silences: [TaskID: Silence] = [:]
    private var reportedAt: MonotonicTime?

    /// True if a transfer is silent and was not reported recently; records the report.
    mutating func shouldDiagnose(_ transfers: [TaskInfo], at now: MonotonicTime) -> Bool {
        var silences: [TaskID: Silence] = [:]
        for transfer in transfers {
            guard case .running = transfer.state else { continue }
            let known = self.silences[transfer.id].flatMap { $0.progress == transfer.progress ? $0 : nil }
            silences[transfer.id] = known ?? Silence(progress: transfer.progress, since: now)
        }
        self.silences = silences
        let isDue = silences.values.contains { silence in
            now - silence.since >= Self.threshold
                && silence.reportedAt.map { now - $0 >= Self.minimumIntervals.same } ?? true
        }
        guard isDue, self.reportedAt.map({ now - $0 >= Self.minimumIntervals.any }) ?? true else { return false }
        self.reportedAt = now
        for (id, silence) in silences where now - silence.since >= Self.threshold {
            self.silences[id]?.reportedAt = now
        }
        return true
    }
}

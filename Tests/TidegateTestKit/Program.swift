internal import Foundation
internal import Synchronization

/// A program started by a test; its output goes to files, so that a full pipe cannot block it.
package final class Program: Sendable {
    /// The results of a program.
    package struct Output: Sendable {
        /// The exit code; 128 + n if signal n ended it.
        package let status: Int32
        /// What it wrote to standard output.
        package let output: String
        /// What it wrote to standard error.
        package let errors: String
    }

    /// The program could not be started, or failed.
    package struct NotStarted: Error, CustomStringConvertible {
        /// The program and the reason.
        package let description: String
    }

    /// The program's process id.
    package let id: Int32
    private let exit: Task<Int32, Never>
    private let isOver: Over
    private let outputFile: URL
    private let errorFile: URL

    /// Starts a program found on PATH, with nothing on standard input.
    package init(_ command: [String], environment: [String: String] = [:]) throws {
        let folder = FileManager.default.temporaryDirectory
        let name = UUID().uuidString
        self.outputFile = folder.appendingPathComponent("\(name).out")
        self.errorFile = folder.appendingPathComponent("\(name).err")
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = command
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardInput = FileHandle.nullDevice
        let handles = [try Program.create(self.outputFile), try Program.create(self.errorFile)]
        // A process of Foundation is never freed, and would keep them open.
        defer { for handle in handles { try? handle.close() } }
        (process.standardOutput, process.standardError) = (handles[0], handles[1])
        let (ended, sayEnded) = AsyncStream.makeStream(of: Int32.self, bufferingPolicy: .bufferingNewest(1))
        let isOver = Over()
        self.isOver = isOver
        process.terminationHandler = { process in
            isOver.value.withLock { $0 = true }
            let isSignal = process.terminationReason == .uncaughtSignal
            sayEnded.yield(isSignal ? 128 + process.terminationStatus : process.terminationStatus)
            sayEnded.finish()
        }
        InternetSockets.closeOnExec()
        do { try process.run() } catch {
            throw NotStarted(description: "\(command.first ?? ""): \(error)")
        }
        self.id = process.processIdentifier
        self.exit = Task { await ended.first { _ in true } ?? -1 }
    }

    deinit {
        try? FileManager.default.removeItem(at: self.outputFile)
        try? FileManager.default.removeItem(at: self.errorFile)
    }

    /// Runs a program to its end; kills it after `limit`.
    @discardableResult
    package static func run(
        _ command: [String], environment: [String: String] = [:], limit: Duration = .seconds(300)
    ) async throws -> Output {
        try await Program(command, environment: environment).finish(within: limit)
    }

    /// Runs a program that has to succeed, and returns its standard output.
    @discardableResult
    package static func expect(_ command: [String], limit: Duration = .seconds(300)) async throws -> String {
        let output = try await self.run(command, limit: limit)
        guard output.status == 0 else {
            throw NotStarted(description: "\(command.joined(separator: " ")): \(output.status) \(output.errors)")
        }
        return output.output
    }

    /// Waits until an HTTP server answers with success.
    ///
    /// `prefix` starts the command that asks, so that it can run in a network namespace.
    package static func answers(_ url: String, prefix: [String] = []) async throws {
        let isAnswered = try await eventually {
            // A server that is starting may accept a connection and never answer it.
            try await self.run(prefix + ["curl", "-sf", "--max-time", "5", "-o", "/dev/null", url]).status == 0
        }
        guard isAnswered else { throw NotStarted(description: "\(url) does not answer") }
    }

    /// What it has written to standard output so far.
    package var outputSoFar: String { (try? String(contentsOf: self.outputFile, encoding: .utf8)) ?? "" }

    /// What it has written to standard error so far.
    package var errorsSoFar: String { (try? String(contentsOf: self.errorFile, encoding: .utf8)) ?? "" }

    /// Sends it a signal, unless it is over: its id may be another process's by then.
    package func signal(_ number: Int32) { self.isOver.value.withLock { if !$0 { kill(self.id, number) } } }

    /// Waits for its end; kills it after `limit`.
    package func finish(within limit: Duration = .seconds(300)) async -> Output {
        let killer = Task {
            try await Task.sleep(for: limit)
            self.signal(SIGKILL)
        }
        let status = await self.exit.value
        killer.cancel()
        return Output(status: status, output: self.outputSoFar, errors: self.errorsSoFar)
    }

    private final class Over: Sendable {
        let value = Mutex(false)
    }

    private static func create(_ file: URL) throws -> FileHandle {
        guard FileManager.default.createFile(atPath: file.path, contents: nil) else {
            throw NotStarted(description: "\(file.path) cannot be created")
        }
        return try FileHandle(forWritingTo: file)
    }
}

/// Evaluates a condition until it is true or `limit` has passed; returns the last value.
package func eventually(
    within limit: Duration = .seconds(300), _ isTrue: () async throws -> Bool
) async rethrows -> Bool {
    try await eventualValue(within: limit) { try await isTrue() ? true : nil } ?? false
}

/// Evaluates an expression until it has a value or `limit` has passed; returns the last value.
package func eventualValue<Value>(
    within limit: Duration = .seconds(300), of value: () async throws -> Value?
) async rethrows -> Value? {
    let deadline = ContinuousClock.now + limit
    while ContinuousClock.now < deadline, !Task.isCancelled {
        if let value = try await value() { return value }
        try? await Task.sleep(for: .milliseconds(20))
    }
    return try await value()
}

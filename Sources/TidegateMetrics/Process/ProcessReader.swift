internal import FoundationEssentials
internal import Glibc
internal import TidegateCore

/// Reads the statistics of the process (proc(5)); values that the system hides stay nil.
struct ProcessReader: Sendable {
    let time: any TimeSource

    func sample() -> ProcessSample {
        var sample = ProcessSample(openDescriptors: ProcessReader.openDescriptors())
        if let text = ProcessReader.contents("/proc/self/stat") { self.parse(stat: text, into: &sample) }
        if let text = ProcessReader.contents("/proc/self/limits") {
            sample.maxDescriptors = ProcessReader.limit("Max open files", in: text)
            sample.maxVirtualBytes = ProcessReader.limit("Max address space", in: text)
        }
        return sample
    }

    /// Parses the line of `/proc/self/stat` into `sample`.
    func parse(stat: String, into sample: inout ProcessSample) {
        // The second field is a name in parentheses that may contain any character, so parsing starts after the last
        // one.
        guard let parenthesis = stat.lastIndex(of: ")") else { return }
        let fields = stat[stat.index(after: parenthesis)...].split(whereSeparator: \.isWhitespace)
        guard fields.count > 21 else { return }
        let ticks = Double(max(1, sysconf(Int32(_SC_CLK_TCK))))
        if let user = Double(fields[11]), let system = Double(fields[12]) {
            sample.cpuSeconds = (user + system) / ticks
        }
        sample.threads = Int(fields[17])
        sample.virtualBytes = UInt64(fields[20])
        let pageSize = UInt64(max(1, sysconf(Int32(_SC_PAGESIZE))))
        sample.residentBytes = UInt64(fields[21]).map { $0 * pageSize }
        // Counted from boot; /proc/stat, which has the boot time, may be hidden (ProcSubset=pid).
        if let start = Double(fields[19]) {
            let boot = self.time.wall().seconds - Double(self.time.monotonic().nanoseconds) / 1e9
            sample.startSeconds = ((boot + start / ticks) * 100).rounded() / 100
        }
    }

    /// The soft limit in a line of `/proc/self/limits`; "unlimited" is the largest number, as in Go's client.
    static func limit(_ name: String, in text: String) -> Double? {
        for line in text.split(separator: "\n") where line.hasPrefix(name) {
            guard let soft = line.dropFirst(name.count).split(separator: " ").first else { return nil }
            return soft == "unlimited" ? Double(UInt64.max) : Double(soft)
        }
        return nil
    }

    private static func openDescriptors() -> Int? {
        let descriptors = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        // Excludes the descriptor of this listing.
        return descriptors.map { max(0, $0.count - 1) }
    }

    private static func contents(_ path: String) -> String? {
        FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
    }
}

/// The statistics of the process, as in every Prometheus client.
enum ProcessCollector {
    static func register(in registry: Registry) {
        self.register(Catalogue.processCPU, in: registry) { $0.cpuSeconds }
        self.register(Catalogue.processOpenDescriptors, in: registry) { $0.openDescriptors.map { Double($0) } }
        self.register(Catalogue.processMaxDescriptors, in: registry) { $0.maxDescriptors }
        self.register(Catalogue.processVirtualMemory, in: registry) { $0.virtualBytes.map { Double($0) } }
        self.register(Catalogue.processVirtualMemoryMax, in: registry) { $0.maxVirtualBytes }
        self.register(Catalogue.processResidentMemory, in: registry) { $0.residentBytes.map { Double($0) } }
        self.register(Catalogue.processStartTime, in: registry) { $0.startSeconds }
        self.register(Catalogue.processThreads, in: registry) { $0.threads.map { Double($0) } }
    }

    private static func register(
        _ definition: MetricDefinition, in registry: Registry, _ value: @escaping @Sendable (ProcessSample) -> Double?
    ) {
        registry.collect(definition) { inputs, samples in samples.add(value: inputs.process.flatMap(value)) }
    }
}

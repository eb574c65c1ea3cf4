// swift-tools-version: 6.2
import PackageDescription

// A peer that the benchmarks build when it is asked for; the product does not depend on it.
let package = Package(
    name: "session-gets", targets: [.executableTarget(name: "SessionGets")], swiftLanguageModes: [.v6])

// swift-tools-version: 6.2
import PackageDescription

// Every target: the compiler as a reviewer.
let house: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]
// Values, walls and rooms: no unsafe expression goes unmarked, and rooms have none.
let room: [SwiftSetting] = house + [.strictMemorySafety()]

let package = Package(
    name: "tidegate",
    targets: [
        .systemLibrary(name: "CLinux"),
        .target(name: "TidegateModel", swiftSettings: room),
        .target(name: "TidegateLoop", dependencies: ["TidegateModel", "CLinux"], swiftSettings: house),
        .target(name: "TidegateBus", dependencies: ["TidegateModel"], swiftSettings: room),
    ],
    swiftLanguageModes: [.v6]
)

// 802.11 with OFDM, HT or VHT in ns-3.37, with the error rates of the NIST model and one received
// power for all: saturated senders around one receiver, or broadcasts of one sender, UDP.
//
// One line of JSON goes to standard output.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/wifi-module.h"

#include <cstdio>
#include <map>
#include <string>
#include <vector>

using namespace ns3;

int
main(int argc, char* argv[])
{
    std::string standard = "a";
    std::string channelSettings = "{36, 20, BAND_5GHZ, 0}";
    std::string mode = "OfdmRate6Mbps";
    std::string control = "OfdmRate6Mbps";
    std::string manager = "";
    bool shortGuard = false;
    bool broadcast = false;
    uint32_t antennas = 1;
    uint32_t senders = 1;
    uint32_t payload = 1472;
    double rss = -40;
    double interval = 0.001;
    double warmUp = 1;
    double duration = 11;
    uint64_t run = 1;
    CommandLine commandLine(__FILE__);
    commandLine.AddValue("standard", "a, p, g, n or ac", standard);
    commandLine.AddValue("channel", "ns-3's ChannelSettings", channelSettings);
    commandLine.AddValue("mode", "mode of data frames", mode);
    commandLine.AddValue("control", "mode of RTS", control);
    commandLine.AddValue("manager", "rate control instead of the mode of data, such as Arf", manager);
    commandLine.AddValue("short-guard", "short guard interval", shortGuard);
    commandLine.AddValue("broadcast", "frames are broadcast in the mode of data", broadcast);
    commandLine.AddValue("antennas", "antennas and streams", antennas);
    commandLine.AddValue("senders", "number of senders", senders);
    commandLine.AddValue("payload", "UDP payload, bytes", payload);
    commandLine.AddValue("rss", "received power, dBm", rss);
    commandLine.AddValue("interval", "time between a sender's datagrams, s", interval);
    commandLine.AddValue("warm-up", "begin of the measurement, s", warmUp);
    commandLine.AddValue("duration", "end of the run, s", duration);
    commandLine.AddValue("run", "run number of the random streams", run);
    commandLine.Parse(argc, argv);
    RngSeedManager::SetSeed(12345);
    RngSeedManager::SetRun(run);
    Config::SetDefault("ns3::WifiMacQueue::MaxSize", QueueSizeValue(QueueSize("50p")));
    Config::SetDefault("ns3::WifiMacQueue::MaxDelay", TimeValue(Seconds(60)));

    NodeContainer nodes(senders + 1);
    MobilityHelper mobility;
    mobility.Install(nodes);
    YansWifiChannelHelper channel;
    channel.SetPropagationDelay("ns3::ConstantSpeedPropagationDelayModel");
    channel.AddPropagationLoss("ns3::FixedRssLossModel", "Rss", DoubleValue(rss));
    YansWifiPhyHelper phy;
    phy.SetChannel(channel.Create());
    phy.SetErrorRateModel("ns3::NistErrorRateModel");
    phy.SetPreambleDetectionModel("ns3::ThresholdPreambleDetectionModel",
                                  "Threshold",
                                  DoubleValue(broadcast ? -10 : 4),
                                  "MinimumRssi",
                                  DoubleValue(-101));
    phy.Set("ChannelSettings", StringValue(channelSettings));
    phy.Set("Antennas", UintegerValue(antennas));
    phy.Set("MaxSupportedTxSpatialStreams", UintegerValue(antennas));
    phy.Set("MaxSupportedRxSpatialStreams", UintegerValue(antennas));
    const std::map<std::string, WifiStandard> standards = {{"a", WIFI_STANDARD_80211a},
                                                           {"p", WIFI_STANDARD_80211p},
                                                           {"g", WIFI_STANDARD_80211g},
                                                           {"n", WIFI_STANDARD_80211n},
                                                           {"ac", WIFI_STANDARD_80211ac}};
    WifiMacHelper mac;
    mac.SetType("ns3::AdhocWifiMac");
    WifiHelper wifi;
    wifi.SetStandard(standards.at(standard));
    wifi.DisableFlowControl();
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager",
                                 "DataMode",
                                 StringValue(mode),
                                 "ControlMode",
                                 StringValue(control),
                                 "NonUnicastMode",
                                 StringValue(broadcast ? mode : control));
    if (!manager.empty())
    {
        wifi.SetRemoteStationManager("ns3::" + manager + "WifiManager");
    }
    NetDeviceContainer devices = wifi.Install(phy, mac, nodes);
    if (standard == "n" || standard == "ac")
    {
        Config::Set("/NodeList/*/DeviceList/*/$ns3::WifiNetDevice/HtConfiguration/"
                    "ShortGuardIntervalSupported",
                    BooleanValue(shortGuard));
        // Single frames, as of a station without aggregation.
        Config::Set("/NodeList/*/DeviceList/*/$ns3::WifiNetDevice/Mac/BE_MaxAmpduSize",
                    UintegerValue(0));
    }
    InternetStackHelper().Install(nodes);
    Ipv4AddressHelper network("10.0.0.0", "255.255.255.0");
    Ipv4InterfaceContainer addresses = network.Assign(devices);

    std::vector<Ptr<PacketSink>> sinks;
    std::vector<Ptr<UdpClient>> clients;
    for (uint32_t i = 1; i <= senders; ++i)
    {
        uint16_t port = 5000 + i;
        PacketSinkHelper sink("ns3::UdpSocketFactory",
                              InetSocketAddress(Ipv4Address::GetAny(), port));
        sinks.push_back(DynamicCast<PacketSink>(sink.Install(nodes.Get(0)).Get(0)));
        Ipv4Address to = broadcast ? Ipv4Address("10.0.0.255") : addresses.GetAddress(0);
        UdpClientHelper client(to, port);
        client.SetAttribute("MaxPackets", UintegerValue(UINT32_MAX));
        client.SetAttribute("Interval", TimeValue(Seconds(interval)));
        client.SetAttribute("PacketSize", UintegerValue(payload));
        ApplicationContainer application = client.Install(nodes.Get(i));
        application.Start(Seconds(0.01 * i));
        clients.push_back(DynamicCast<UdpClient>(application.Get(0)));
    }

    std::vector<uint64_t> before;
    uint64_t sentBefore = 0;
    Simulator::Schedule(Seconds(warmUp), [&]() {
        for (const auto& sink : sinks)
        {
            before.push_back(sink->GetTotalRx());
        }
        sentBefore = clients[0]->GetTotalTx();
    });
    Simulator::Stop(Seconds(duration));
    Simulator::Run();

    std::printf("{\"measured_s\": %g, \"sent\": %lu, \"packets\": [",
                duration - warmUp,
                static_cast<unsigned long>((clients[0]->GetTotalTx() - sentBefore) / payload));
    for (uint32_t i = 0; i < senders; ++i)
    {
        uint64_t packets = (sinks[i]->GetTotalRx() - before[i]) / payload;
        std::printf("%s%lu", i == 0 ? "" : ", ", static_cast<unsigned long>(packets));
    }
    std::printf("]}\n");
    Simulator::Destroy();
    return 0;
}
